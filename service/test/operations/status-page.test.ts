import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  deleteOldPeriods,
  HISTORY_DAYS,
  readHistory,
  recordCondition,
} from '../../src/operations/status-page/history.ts'
import { sql } from '../../src/platform/database/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { openStatusPages, parseXml, type StatusPages } from '../../testing/status-page.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const ITEM = '10000000000000001'
/** Noon, so that no test of the present meets midnight. */
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2
const ALL_UP = { buying: 'up', reading: 'up', delivery: 'up', webhooks: 'up' }

let shop: Shop
let pages: StatusPages
beforeAll(async () => {
  shop = await openShop()
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM)]))
})
afterAll(() => shop.close())
beforeEach(async () => {
  await shop.database.asOwner('delete from status_periods; update store_windows set cancelled_at = now()')
  await shop.operator.setStore(true, null)
  pages = await openStatusPages(shop.database.worker)
  // The clock of the database decides about planned closings, so the pages begin with it.
  pages.time.ms = Date.now()
  onTestFinished(() => pages.close())
})

const order = async () => {
  const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: `status-${randomUUID()}` })
  const { status, body: made } = await shop.call('POST', '/v1/orders', { body })
  expect(status, JSON.stringify(made)).toBe(201)
  return made.id as string
}

const periods = () =>
  shop.database.owner.many<{ started_at: Date; seen_until: Date; store: string; impaired: string[] }>(sql`
    select started_at, seen_until, store, impaired
      from status_periods
     order by started_at`)

describe('the present', () => {
  test('an open store that works says so, and nothing is known of the days before', async () => {
    const page = await pages.open()
    const status = await page.after(10_000)
    expect(status).toMatchObject({
      written_at: new Date(pages.time.ms).toISOString(),
      stale_after_s: 300,
      status: 'operational',
      store: { state: 'open', reason: null, since: null, opens_at: null },
      parts: ALL_UP,
      orders_late: false,
      planned: [],
      incidents: [],
    })
    expect(status.days).toHaveLength(90)
    expect(status.days.at(-1)).toMatchObject({ closed_min: 0, degraded_min: 0 })
    expect(new Set(status.days.slice(0, -1).map(({ unknown_min }) => unknown_min))).toEqual(new Set([1_440]))
    const html = await page.file('index.html')
    expect(html).toContain('The store is open')
    expect(html).toContain(`<time datetime="${status.written_at}">`)
    expect(html).toContain('more than 5 minutes ago')
    expect(html).toContain('help@example.com')
    expect((await readdir(page.folder)).toSorted()).toEqual([
      'feed.xml',
      'index.html',
      'status.css',
      'status.json',
    ])
  })

  test('a store that an operator closed says why, since when, and that nobody knows until when', async () => {
    const page = await pages.open()
    await page.after(10_000)
    const { changed_at } = await shop.operator.setStore(false, 'Stock-taking')
    const { store, parts, status, incidents } = await page.after(10_000)
    expect(status).toBe('degraded')
    expect(store).toEqual({
      state: 'closed',
      reason: 'Stock-taking',
      since: changed_at.toISOString(),
      opens_at: null,
    })
    expect(parts).toEqual({ ...ALL_UP, buying: 'closed' })
    expect(incidents).toMatchObject([{ kind: 'closed', until: null, reason: 'Stock-taking' }])
    const html = await page.file('index.html')
    expect(html).toContain('503 store_closed')
    expect(html).toContain('When it opens is not known yet')
    await shop.operator.setStore(true, null)
    const opened = await page.after(10_000)
    expect(opened.store.state).toBe('open')
    expect(opened.incidents).toMatchObject([{ kind: 'closed', until: new Date(pages.time.ms).toISOString() }])
  })

  test('a planned closing is announced, closes the store until it ends, and later ones that touch it count', async () => {
    const page = await pages.open()
    const inAnHour = new Date(Date.now() + 3_600_000)
    const inTwoHours = new Date(Date.now() + 7_200_000)
    const ahead = await shop.operator.planWindow({
      closes_at: inAnHour,
      opens_at: inTwoHours,
      reason: 'Ahead',
    })
    const { planned, store } = await page.after(10_000)
    expect(store.state).toBe('open')
    expect(planned).toMatchObject([
      { closes_at: inAnHour.toISOString(), opens_at: inTwoHours.toISOString(), reason: 'Ahead' },
    ])
    expect(parseXml(await page.file('feed.xml')).text).toContain('Planned closing: Ahead')
    const now = { closes_at: new Date(Date.now() - 1_000), opens_at: inAnHour, reason: 'Moving' }
    await shop.operator.planWindow(now)
    const during = await page.after(10_000)
    expect(during.store).toEqual({
      state: 'planned',
      reason: 'Moving',
      since: now.closes_at.toISOString(),
      opens_at: inTwoHours.toISOString(),
    })
    expect(during.incidents).toMatchObject([{ kind: 'planned', reason: 'Moving', until: null }])
    expect(await page.file('index.html')).toContain(`<time datetime="${inTwoHours.toISOString()}">`)
    await shop.operator.cancelWindow(ahead.id)
    expect((await page.after(10_000)).store.opens_at).toBe(inAnHour.toISOString())
  })

  test('work that no worker takes up makes delivery degraded after three looks, and well again after three', async () => {
    const page = await pages.open()
    const id = await order()
    await shop.database.asOwner(`update jobs set run_at = now() - interval '61 s' where queue = 'fulfil'`)
    expect((await page.after(20_000)).parts.delivery).toBe('up')
    const { status, parts } = await page.after(10_000)
    expect([status, parts]).toEqual(['degraded', { ...ALL_UP, delivery: 'degraded' }])
    await shop.operator.cancelOrder(id, 'test')
    expect((await page.after(20_000)).parts.delivery).toBe('degraded')
    const { parts: after, incidents } = await page.after(10_000)
    expect(after).toEqual(ALL_UP)
    expect(incidents).toMatchObject([{ kind: 'degraded', parts: ['delivery'], reason: null }])
  })

  test('events that no worker takes up make webhooks degraded', async () => {
    const page = await pages.open()
    await shop.database.asOwner(
      `insert into jobs (account_id, queue, subject, run_at, created_at)
       values ('${shop.account.id}', 'deliver', 'whe_status', now() - interval '61 s', now())`,
    )
    onTestFinished(() => shop.database.asOwner(`delete from jobs where subject = 'whe_status'`))
    expect((await page.after(30_000)).parts).toEqual({ ...ALL_UP, webhooks: 'degraded' })
  })

  test('one order that waits for its links is late, and the store works', async () => {
    const page = await pages.open()
    const id = await order()
    await shop.database.asOwner(
      `update orders set created_at = created_at - interval '11 min' where id = '${id}';
       update jobs set run_at = 'infinity' where subject = '${id}'`,
    )
    const { orders_late, status } = await page.after(10_000)
    expect([orders_late, status]).toEqual([true, 'operational'])
    expect(await page.file('index.html')).toContain('Some orders wait much longer than usual')
    await shop.database.asOwner(
      `update orders set created_at = created_at + interval '11 min' where id = '${id}'`,
    )
    expect((await page.after(10_000)).orders_late).toBe(false)
    await shop.operator.cancelOrder(id, 'test')
  })

  test('an API that stops answering is unavailable; one that never answered is not known', async () => {
    const page = await pages.open()
    pages.api.code = 502
    expect((await page.after(40_000)).parts).toEqual({ ...ALL_UP, buying: 'unknown', reading: 'unknown' })
    pages.api.code = 200
    expect((await page.after(10_000)).parts).toEqual(ALL_UP)
    pages.api.code = 502
    expect((await page.after(20_000)).parts).toEqual(ALL_UP)
    const away = await page.after(10_000)
    expect(away.parts).toEqual({ ...ALL_UP, buying: 'unavailable', reading: 'unavailable' })
    pages.api.code = 200
    const { incidents } = await page.after(30_000)
    expect(incidents).toMatchObject([{ kind: 'degraded', parts: ['buying', 'reading'] }])
  })

  test('what only API processes see, such as Redis, counts as well', async () => {
    const page = await pages.open()
    await page.after(10_000)
    pages.api.status = 'degraded'
    expect((await page.after(30_000)).parts).toEqual({ ...ALL_UP, buying: 'degraded', reading: 'degraded' })
    pages.api.api = 'unavailable'
    expect((await page.after(30_000)).parts).toEqual({
      ...ALL_UP,
      buying: 'unavailable',
      reading: 'unavailable',
    })
  })

  test('a database that was not confirmed is a closed store that delivers nothing', async () => {
    const page = await pages.open()
    await shop.database.asOwner('update database_identity set timeline = timeline + 1')
    onTestFinished(() => shop.database.asOwner('update database_identity set timeline = timeline - 1'))
    const { store, parts, incidents } = await page.after(10_000)
    expect(store).toMatchObject({ state: 'unconfirmed', reason: null, opens_at: null })
    expect(store.since).toBe(new Date(pages.time.ms).toISOString())
    expect(parts).toMatchObject({ buying: 'closed', delivery: 'unavailable', webhooks: 'unavailable' })
    expect(incidents).toMatchObject([{ kind: 'unconfirmed', until: null }])
  })

  test('a database that does not answer is shown after half a minute, and recorded when it answers again', async () => {
    const page = await pages.open()
    await page.after(60_000)
    const outageMs = pages.time.ms + 10_000
    await asSuperuser(async (client) => {
      await client.query('begin; lock table store_state')
      expect((await page.after(10_000)).status).toBe('operational')
      const { status, store, parts, incidents } = await page.after(30_000, 30_000)
      expect([status, store.state, store.since]).toEqual([
        'degraded',
        'unavailable',
        new Date(outageMs).toISOString(),
      ])
      expect(new Set(Object.values(parts))).toEqual(new Set(['unavailable']))
      expect(incidents).toMatchObject([{ kind: 'unavailable', until: null }])
      pages.time.ms += 10 * MINUTE_MS
      await client.query('rollback')
    }, shop.database.superuserUrl)
    const { days, incidents, store } = await page.after(10_000)
    expect(store.state).toBe('open')
    expect(incidents).toMatchObject([{ kind: 'unavailable', from: new Date(outageMs).toISOString() }])
    const closed_min = days.reduce((sum, day) => sum + day.closed_min, 0)
    // Each of two days is rounded.
    expect(closed_min).toBeGreaterThanOrEqual(11)
    expect(closed_min).toBeLessThanOrEqual(12)
  })
})

describe('history', () => {
  test('a time in which no worker ran is not known', async () => {
    pages.time.ms = NOON_MS - MINUTE_MS
    await (await pages.open()).after(10 * MINUTE_MS, MINUTE_MS)
    pages.time.ms += 29 * MINUTE_MS
    const { days } = await (await pages.open()).after(10 * MINUTE_MS, MINUTE_MS)
    // From midnight to the first sighting, and the gap.
    expect(days.at(-1)).toEqual({
      day: new Date(NOON_MS).toISOString().slice(0, 10),
      closed_min: 0,
      degraded_min: 0,
      unknown_min: 720 + 30,
    })
    expect(await periods()).toHaveLength(2)
  })

  test('a restart of the only worker is no gap', async () => {
    pages.time.ms = NOON_MS
    await (await pages.open()).after(10 * MINUTE_MS)
    pages.time.ms += 80_000
    await (await pages.open()).after(10_000)
    expect(await periods()).toMatchObject([{ seen_until: new Date(pages.time.ms) }])
  })

  test('a store that an operator closed was closed while no worker ran, too', async () => {
    const page = await pages.open()
    await page.after(MINUTE_MS)
    await shop.operator.setStore(false, 'Upgrade')
    await page.after(MINUTE_MS)
    pages.time.ms += 20 * MINUTE_MS
    const { incidents } = await (await pages.open()).after(10_000)
    expect(incidents).toHaveLength(1)
    expect(await periods()).toMatchObject([
      { store: 'open' },
      { store: 'closed', seen_until: new Date(pages.time.ms) },
    ])
  })

  test('a store that was seen only once, and was closed before that, has both periods', async () => {
    const page = await pages.open()
    await page.after(10_000)
    await shop.database.asOwner(
      `update store_state set is_open = false, reason = 'test', changed_at = now() - interval '1 day'`,
    )
    pages.time.ms += 20 * MINUTE_MS
    expect((await page.after(10_000)).store.state).toBe('closed')
    const [once, closed] = await periods()
    expect([once?.store, closed?.store]).toEqual(['open', 'closed'])
    expect(closed?.started_at.getTime()).toBe((once?.seen_until.getTime() ?? 0) + 1)
  })

  test('a statement that failed once is no outage', async () => {
    const page = await pages.open()
    await page.after(MINUTE_MS)
    await asSuperuser(async (client) => {
      await client.query('begin; lock table store_state')
      await page.after(10_000)
      await client.query('rollback')
    }, shop.database.superuserUrl)
    await page.after(2 * MINUTE_MS)
    expect((await periods()).map(({ store }) => store)).toEqual(['open'])
  })

  test('several workers write one history, and repeat nothing', async () => {
    const [one, two] = [await pages.open(), await pages.open()]
    const bothLook = () => Promise.all([one.look(), two.look()])
    for (const isOpen of [true, false, true, false]) {
      await shop.operator.setStore(isOpen, isOpen ? null : 'test')
      for (let n = 0; n < 3; n += 1) {
        pages.time.ms += 30_000
        await bothLook()
      }
    }
    const found = await periods()
    expect(found.map(({ store }) => store)).toEqual(['open', 'closed', 'open', 'closed'])
    for (const [n, { started_at }] of found.entries())
      if (n > 0) expect(started_at).toEqual(found[n - 1]?.seen_until)
  })

  test('days are those of UTC, ninety with today, and a period counts for each day that it is in', async () => {
    const midnightMs = NOON_MS - DAY_MS / 2
    const first = midnightMs - (HISTORY_DAYS - 1) * DAY_MS
    const at = (ms: number) => new Date(ms).toISOString()
    const period = (fromMs: number, toMs: number, store: string, impaired = '{}') =>
      `('${at(fromMs)}', '${at(toMs)}', '${store}', '${impaired}')`
    await shop.database.asOwner(
      `insert into status_periods (started_at, seen_until, store, impaired)
       values ${[
         period(first - DAY_MS, first - 60 * MINUTE_MS, 'open'),
         period(first - 60 * MINUTE_MS, first + 30 * MINUTE_MS, 'closed'),
         period(first + 30 * MINUTE_MS, first + DAY_MS, 'open'),
         period(midnightMs - 10 * MINUTE_MS, midnightMs + 5 * MINUTE_MS, 'open', '{buying}'),
       ].join(',')}`,
    )
    for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati']) {
      const { days, periods: listed } = await shop.database.worker.transaction(async (tx) => {
        await tx.run({ name: `zone_${zone}`, text: `set local time zone '${zone}'`, values: [] })
        return readHistory(tx, NOON_MS)
      })
      expect(days.map(({ day }) => day.getTime())).toEqual(
        Array.from({ length: 90 }, (_, n) => first + n * DAY_MS),
      )
      expect(days[0]).toMatchObject({ closed_s: 30 * 60, degraded_s: 0, seen_s: 86_400 })
      expect(days[1]).toMatchObject({ closed_s: 0, seen_s: 0 })
      expect(days.at(-2)).toMatchObject({ degraded_s: 600, seen_s: 600 })
      expect(days.at(-1)).toMatchObject({ degraded_s: 300, seen_s: 300 })
      expect(listed.map(({ started_at }) => started_at.getTime())).toEqual([
        midnightMs - 10 * MINUTE_MS,
        first - 60 * MINUTE_MS,
      ])
    }
    const { days } = await readHistory(shop.database.worker, NOON_MS + DAY_MS)
    expect(days[0]).toMatchObject({ closed_s: 0, seen_s: 0 })
  })

  test('a clock that cannot be trusted is not recorded, and what ended long ago is removed', async () => {
    const page = await pages.open()
    pages.time.isTrusted = false
    expect((await page.after(MINUTE_MS)).store.state).toBe('open')
    expect(await periods()).toEqual([])
    const calm = { store: 'open', reason: null, impaired: [] } as const
    await recordCondition(shop.database.worker, calm, new Date(0))
    await recordCondition(shop.database.worker, calm, new Date(NOON_MS))
    expect(await deleteOldPeriods(shop.database.worker, new Date(NOON_MS - DAY_MS))).toBe(1)
    expect(await periods()).toHaveLength(1)
  })
})

describe('the files', () => {
  test('hostile texts are shown and have no effect; nothing of accounts is in any file', async () => {
    const hostile = `]]>--><script>alert(1)</script><img src=x onerror="x">&amp;'"\u202e\uffff`
    await shop.database.asOwner(
      `update store_state set is_open = false, changed_at = now(), reason = '${hostile.replaceAll("'", "''")}'`,
    )
    await shop.operator.planWindow({
      closes_at: new Date(Date.now() + 3_600_000),
      opens_at: new Date(Date.now() + 7_200_000),
      reason: '</li></ul><a href="javascript:alert(1)">',
    })
    const page = await pages.open()
    const id = await order().catch(() => '')
    await page.after(10_000)
    const [html, feed, json] = await Promise.all(
      ['index.html', 'feed.xml', 'status.json'].map((name) => page.file(name)),
    )
    const parsed = parseXml(html?.replace(/^<!doctype html>\n/, '') ?? '')
    expect(parsed.text).toContain(`]]>--><script>alert(1)</script><img src=x onerror="x">&amp;'"\\u202e`)
    expect(parsed.elements).not.toContain('script')
    expect(parsed.elements).not.toContain('img')
    expect(html).not.toMatch(/<[^>]+ (on\w+|style)=/)
    const entries = parseXml(feed ?? '')
    expect(entries.elements.filter((name) => name === 'entry')).toHaveLength(2)
    expect(entries.elements).not.toContain('a')
    for (const text of [html, feed, json]) {
      for (const secret of [
        shop.account.id,
        shop.account.name,
        shop.key.id,
        'acct_',
        'ord_',
        ITEM,
        id || 'ord_',
      ])
        expect(text).not.toContain(secret)
    }
    expect(Object.keys(JSON.parse(json ?? '')).toSorted()).toEqual(
      'days incidents orders_late parts planned stale_after_s status store written_at'.split(' '),
    )
  })

  test('a reader never sees half a file', async () => {
    const page = await pages.open()
    await page.look()
    let isDone = false
    const reading = (async () => {
      let reads = 0
      for (; !isDone; reads += 1) {
        const [html, feed, json] = await Promise.all(
          ['index.html', 'feed.xml', 'status.json'].map((name) => page.file(name)),
        )
        expect(html).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/)
        parseXml(feed ?? '')
        JSON.parse(json ?? '')
      }
      return reads
    })()
    const other = await pages.open(page.folder)
    for (let n = 0; n < 40; n += 1) {
      pages.time.ms += MINUTE_MS
      await Promise.all([page.look(), other.look()])
    }
    isDone = true
    expect(await reading).toBeGreaterThan(5)
    expect(await readdir(page.folder)).toHaveLength(4)
    expect(page.problem() ?? other.problem()).toBeUndefined()
  })

  test('it is written every minute, and at once when something changed', async () => {
    const page = await pages.open()
    const { written_at } = await page.after(10_000)
    expect((await page.after(50_000)).written_at).toBe(written_at)
    expect((await page.after(10_000)).written_at).toBe(new Date(pages.time.ms).toISOString())
    await shop.operator.setStore(false, 'now')
    expect((await page.after(10_000)).written_at).toBe(new Date(pages.time.ms).toISOString())
  })

  test('a folder that is missing is reported once a minute and recorded meanwhile; written again when it is there', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'status-page-'))
    onTestFinished(() => rm(parent, { recursive: true }))
    const folder = join(parent, 'missing')
    const page = await pages.open(folder)
    for (let n = 0; n < 3; n += 1) {
      pages.time.ms += 10_000
      await page.look()
    }
    expect(page.problem()).toMatch(
      /could not be written to .*missing \(ENOENT\): SHOPWIRE_STATUS_FOLDER has to be/,
    )
    expect(pages.lines.filter((line) => line.includes('SHOPWIRE_STATUS_FOLDER'))).toHaveLength(1)
    expect(await periods()).toHaveLength(1)
    await mkdir(folder)
    expect((await page.after(10_000)).store.state).toBe('open')
    expect(page.problem()).toBeUndefined()
  })

  test('files are readable by all, and what a killed worker left is removed', async () => {
    const page = await pages.open()
    const left = join(page.folder, `.index.html.${'0'.repeat(16)}`)
    await writeFile(left, 'half')
    await utimes(left, new Date(0), new Date(0))
    const before = process.umask(0o077)
    await page.look()
    process.umask(before)
    const names = await readdir(page.folder)
    expect(names).toHaveLength(4)
    for (const name of names) expect((await stat(join(page.folder, name))).mode & 0o777).toBe(0o644)
  })
})
