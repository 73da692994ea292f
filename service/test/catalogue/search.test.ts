import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { Snapshot } from '../../src/catalogue/snapshot.ts'
import { itemOf } from '../../testing/items.ts'

const ITEMS = 300_000
const NOW_MS = Date.now()
const id = (n: number) => String(100_000_000_000_000_000n + BigInt(n))
const row = (n: number, name = `Amber Anchor ${n}`) => ({
  ...itemOf(id(n), { name, image: null }),
  has_supply: true,
})

let snapshot: Snapshot

beforeEach(() => {
  snapshot = new Snapshot()
  for (let from = 0; from < ITEMS; from += 10_000)
    snapshot.apply(
      Array.from({ length: 10_000 }, (_, n) => row(from + n)),
      1,
    )
})

/** Runs beside the work at every turn that it gives away. */
async function beside<Result>(work: Promise<Result>, each: (turn: number) => void): Promise<Result> {
  let isOver = false
  const result = work.finally(() => {
    isOver = true
  })
  for (let turn = 1; !isOver; turn += 1) {
    await nextTurn()
    if (!isOver) each(turn)
  }
  return result
}

test('a search that matches every item of a large catalogue lets other requests run in between', async () => {
  let turns = 0
  const { page } = await beside(snapshot.page({ search: 'a' }, NOW_MS), (turn) => {
    turns = turn
  })
  expect(page.total).toBe(ITEMS)
  // How long one turn takes is the machine's affair: a pause of the garbage collector once took longer than all the others together.
  expect(turns).toBeGreaterThan(4)
})

test('when the catalogue changes during a search, the page and its tag are of the new revision throughout', async () => {
  const changed = [0, ITEMS / 2, ITEMS - 1]
  const { page, etag } = await beside(snapshot.page({ search: 'a', limit: 1 }, NOW_MS), (turn) => {
    if (turn === 2)
      snapshot.apply(
        changed.map((n) => row(n, `Other ${n}`)),
        2,
      )
  })
  expect(page.total).toBe(ITEMS - changed.length)
  expect(page.items[0]?.id).toBe(id(1))
  expect(etag).toBe(snapshot.etag(NOW_MS))
})

test('a search ends although the catalogue changes at every turn, and its result is of one revision', async () => {
  let revision = 1
  const { page, etag } = await beside(snapshot.page({ search: 'anchor', limit: 1 }, NOW_MS), () => {
    revision += 1
    // One item after the other loses its name, and the one before gets it back: there is always one without.
    snapshot.apply([row(revision, 'Other'), row(revision - 1)], revision)
  })
  expect(page.total).toBe(ITEMS - 1)
  expect(etag).toMatch(new RegExp(`^"${revision}-`))
})

test('the same search is made once for all who ask for it at the same time', async () => {
  const asked = Array.from({ length: 20 }, () => snapshot.page({ search: 'a', limit: 1 }, NOW_MS))
  const beganMs = performance.now()
  await Promise.all(asked)
  const togetherMs = performance.now() - beganMs
  snapshot.apply([row(0)], 2)
  const againMs = performance.now()
  await snapshot.page({ search: 'a', limit: 1 }, NOW_MS)
  expect(togetherMs).toBeLessThan(10 * (performance.now() - againMs))
})
