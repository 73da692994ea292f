import type { LiveCatalogue } from '../../catalogue/live-catalogue.ts'
import { refuse } from '../../platform/trouble.ts'
import { namesTag } from '../entity-tags.ts'
import { answer, endpoint } from './endpoint.ts'

/** Callers may cache what they read and must revalidate it. */
const CACHE_CONTROL = 'private, no-cache'

export const getCatalogue = (catalogue: LiveCatalogue) =>
  endpoint('getCatalogue', async ({ query, ifNoneMatch }) => {
    const { snapshot } = catalogue
    const nowMs = catalogue.nowMs()
    const known = snapshot.etag(nowMs)
    if (namesTag(ifNoneMatch, known)) return answer(304, null, headersOf(known))
    const { etag, page } = await snapshot.page(query, nowMs)
    return answer(200, page, headersOf(etag))
  })

export const getCatalogueItem = (catalogue: LiveCatalogue) =>
  endpoint('getCatalogueItem', async ({ id, ifNoneMatch }) => {
    const { snapshot } = catalogue
    const nowMs = catalogue.nowMs()
    const item = snapshot.item(id, nowMs)
    if (!item) throw refuse('not_found', 'There is no item with this id. GET /catalogue lists all there are.')
    const headers = headersOf(snapshot.etag(nowMs))
    return namesTag(ifNoneMatch, headers.etag) ? answer(304, null, headers) : answer(200, item, headers)
  })

const headersOf = (etag: string) => ({ etag, 'cache-control': CACHE_CONTROL })
