import { examples } from '@shopwire/contract/published'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { walkPages } from '../src/pages.ts'
import type { Step } from './scripted-server.ts'
import { openShop } from './shop.ts'

type Row = { id: string }

const rows = (...ids: number[]): Row[] => ids.map((id) => ({ id: String(id) }))
const range = (count: number) => rows(...Array.from({ length: count }, (_, n) => n))

test('returns every row once and in order for every page size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(50), fc.integer({ min: 1, max: 20 }), async (count, limit) => {
      const shelf = { rows: range(count) }
      expect(await walk(shelf, limit)).toEqual(range(count))
    }),
  )
})

test('rows added at the front during iteration cause no repeated and no missing rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(50),
      fc.integer({ min: 1, max: 10 }),
      fc.array(fc.nat(3), { maxLength: 40 }),
      async (count, limit, arrivals) => {
        const shelf = { rows: range(count) }
        let next = 1000
        const change = () => {
          const more = arrivals.shift() ?? 0
          shelf.rows = [...rows(...Array.from({ length: more }, () => next++)), ...shelf.rows]
        }
        const seen = await walk(shelf, limit, change)
        expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
        expect(seen.map(({ id }) => id)).toEqual(expect.arrayContaining(range(count).map(({ id }) => id)))
      },
    ),
  )
})

test('a row removed during iteration causes no missing rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 5, max: 60 }),
      fc.integer({ min: 2, max: 10 }),
      fc.nat(),
      async (count, limit, at) => {
        const shelf = { rows: range(count) }
        const gone = shelf.rows[at % count]?.id
        let reads = 0
        const change = () => {
          if (++reads === 2) shelf.rows = shelf.rows.filter(({ id }) => id !== gone)
        }
        const seen = await walk(shelf, limit, change)
        expect(seen.filter(({ id }) => id !== gone)).toEqual(range(count).filter(({ id }) => id !== gone))
      },
    ),
  )
})

test('orders.iterate reads pages of 100 and skips rows that a new order moved to the next page', async () => {
  let all = Array.from({ length: 150 }, (_, n) => ({ ...examples.OrderSummary, id: `ord_${n}` }))
  const listed: Step = (response, { target }) => {
    const query = new URL(target, 'http://x').searchParams
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))]
    response.end(
      JSON.stringify({ orders: all.slice(offset, offset + limit), total: all.length, limit, offset }),
    )
    all = [{ ...examples.OrderSummary, id: 'ord_new' }, ...all]
  }
  const { shop, server } = await openShop([listed, listed])
  const ids: string[] = []
  for await (const { id } of shop.orders.iterate()) ids.push(id)
  expect(ids).toEqual(Array.from({ length: 150 }, (_, n) => `ord_${n}`))
  expect(server.arrived.map(({ target }) => target)).toEqual([
    '/v1/orders?limit=100&offset=0',
    '/v1/orders?limit=100&offset=99',
  ])
})

test('catalogue.iterate sends its filters with every page and stops reading when the caller stops', async () => {
  const listed: Step = (response) =>
    void response.end(
      JSON.stringify({ items: [examples.Item], count: 1, total: 5000, limit: 2000, offset: 0 }),
    )
  const { shop, server } = await openShop([listed])
  for await (const item of shop.catalogue.iterate({ search: 'hat', type: 'bundle' })) {
    expect(item).toEqual(examples.Item)
    break
  }
  expect(server.arrived.map(({ target }) => target)).toEqual([
    '/v1/catalogue?search=hat&type=bundle&limit=2000&offset=0',
  ])
})

/** Reads all pages of a list; `change` is called after every page. */
async function walk(shelf: { rows: Row[] }, limit: number, change = () => {}): Promise<Row[]> {
  const seen: Row[] = []
  const readPage = async (offset: number) => {
    const page = { rows: shelf.rows.slice(offset, offset + limit), total: shelf.rows.length }
    change()
    return page
  }
  for await (const row of walkPages(limit, 0, readPage)) seen.push(row)
  return seen
}
