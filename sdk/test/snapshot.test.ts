import { examples } from '@shopwire/contract/published'
import { describe, expect, test } from 'vitest'
import { UnexpectedResponseError } from '../src/index.ts'
import { answer, hangUp, type Step } from './scripted-server.ts'
import { openShop } from './shop.ts'

const item = (n: number) => ({ ...examples.Item, id: String(n) })
const known: Step = (response) => void response.writeHead(304, { ETag: '"7-0"' }).end()

/** Answers with the requested page of four items, with an ETag if given. */
const page = (etag?: string): Step => {
  return (response, arrived, socket) => {
    const query = new URL(arrived.target, 'http://x').searchParams
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))]
    const items = [1, 2, 3, 4].slice(offset, offset + limit).map(item)
    const body = { items, count: items.length, total: 4, limit, offset }
    answer(200, body, etag === undefined ? {} : { ETag: etag })(response, arrived, socket)
  }
}
const all = [1, 2, 3, 4].map(item)

describe('catalogue.snapshot', () => {
  test('an unchanged catalogue costs one request, and the result has no items', async () => {
    const { shop, server } = await openShop([known])
    const read = await shop.catalogue.snapshot({ search: 'hat', ifNoneMatch: '"7-0"' })
    expect(read).toEqual({ unchanged: true, etag: '"7-0"' })
    // @ts-expect-error `items` does not exist before `unchanged` is checked
    expect(read.items).toBeUndefined()
    expect(server.arrived).toHaveLength(1)
    expect(server.arrived[0]).toMatchObject({
      target: '/v1/catalogue?search=hat&limit=2000&offset=0',
      headers: { 'if-none-match': '"7-0"' },
    })
  })

  test('a retry sends If-None-Match again', async () => {
    const { shop, server } = await openShop([hangUp, known])
    expect(await shop.catalogue.snapshot({ ifNoneMatch: '"7-0"' })).toMatchObject({ unchanged: true })
    expect(server.arrived.map(({ headers }) => headers['if-none-match'])).toEqual(['"7-0"', '"7-0"'])
  })

  test('a changed catalogue is read over all pages; only the first request has If-None-Match', async () => {
    const { shop, server } = await openShop([page('"8-0"'), page('"8-0"'), page('"8-0"')])
    const read = await shop.catalogue.snapshot({ limit: 2, ifNoneMatch: '"7-0"' })
    expect(read).toEqual({ unchanged: false, items: all, etag: '"8-0"' })
    expect(server.arrived.map(({ headers }) => headers['if-none-match'])).toEqual([
      '"7-0"',
      undefined,
      undefined,
    ])
  })

  test('has no etag when its pages are of two revisions', async () => {
    const { shop } = await openShop([page('"8-0"'), page('"7-0"'), page('"8-0"')])
    const read = await shop.catalogue.snapshot({ limit: 2 })
    expect(read).toEqual({ unchanged: false, items: all, etag: undefined })
  })

  test('has no etag when a proxy removes the header', async () => {
    const { shop } = await openShop([page()])
    expect(await shop.catalogue.snapshot()).toEqual({ unchanged: false, items: all, etag: undefined })
  })

  test.each([undefined, null, ''])('sends no If-None-Match for %o', async (ifNoneMatch) => {
    const { shop, server } = await openShop([page('"8-0"')])
    expect(await shop.catalogue.snapshot({ ifNoneMatch })).toMatchObject({ unchanged: false, items: all })
    expect(server.arrived[0]?.headers).not.toHaveProperty('if-none-match')
  })
})

test('a 304 without If-None-Match is an UnexpectedResponseError', async () => {
  const { shop, server } = await openShop([known, known])
  // One after the other: a call that fails before it is awaited would be an unhandled rejection.
  for (const send of [() => shop.catalogue.snapshot(), () => shop.catalogue.list()]) {
    const call = send()
    await expect(call).rejects.toThrow(UnexpectedResponseError)
    await expect(call).rejects.toThrow('status 304')
  }
  expect(server.arrived).toHaveLength(2)
})
