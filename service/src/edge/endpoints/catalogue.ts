import type { LiveCatalogue } from '../../catalogue/live-catalogue.ts'
import { refuse } from '../../platform/trouble.ts'
import { namesTag } from '../entity-tags.ts'
import type { Answer } from '../route-family.ts'
import { answer, endpoint } from './endpoint.ts'

/** Callers may cache what they read and must revalidate it. */
const CACHE_CONTROL = 'private, no-cache'

export const getCatalogue = (catalogue: LiveCatalogue) =>
  endpoint('getCatalogue', async ({ query, ifNoneMatch }) => {
    const { snapshot } = catalogue
    const nowMs = catalogue.nowMs()
    return unlessKnown(snapshot.etag(nowMs), ifNoneMatch, () => snapshot.page(query, nowMs))
  })

export const getCatalogueItem = (catalogue: LiveCatalogue) =>
  endpoint('getCatalogueItem', async ({ id, ifNoneMatch }) => {
    const { snapshot } = catalogue
    const nowMs = catalogue.nowMs()
    const item = snapshot.item(id, nowMs)
    if (!item) throw refuse('not_found', 'There is no item with this id. GET /catalogue lists all there are.')
    return unlessKnown(snapshot.etag(nowMs), ifNoneMatch, () => item)
  })

function unlessKnown<Body>(
  etag: string,
  known: string | undefined,
  read: () => Body,
): Answer<Body> | Answer<null> {
  const headers = { etag, 'cache-control': CACHE_CONTROL }
  return namesTag(known, etag) ? answer(304, null, headers) : answer(200, read(), headers)
}
