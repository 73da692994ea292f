import type { Scope } from '@shopwire/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { deleteOldEvidence } from '../../src/orders/placing/evidence.ts'
import { sql } from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openLine, requestBytes } from '../../testing/raw-http.ts'
import { openShop, type Shop, signedHeaders, type TestKey } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [pooled, dear] = ['10000000000000001', '10000000000000002'] as const
const LINK = 'https://gift.example/evidence-'
const DAY_MS = 86_400_000

let shop: Shop
let worker: ReturnType<typeof startWorker>
const lines: string[] = []
beforeAll(async () => {
  shop = await openShop({
    limits: { requestsMax: 100_000, ordersMax: 100_000 },
    log: { write: (line) => lines.push(line) },
  })
  worker = startWorker(shop)
  await putItems(shop.database.operator, [itemOf(pooled), itemOf(dear, { price_cents: 400_000 })])
  await shop.operator.loadPool(
    pooled,
    Array.from({ length: 30 }, (_, n) => `${LINK}${n}`),
  )
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})

let keys = 0
const freshKey = () => {
  keys += 1
  return `evidence-${keys}`
}
/** An account of its own, with money, and a key. */
async function openAccount(scopes?: readonly Scope[]) {
  const { id } = await shop.operator.createAccount('Evidence')
  await shop.operator.fundAccount(id, { amount_cents: 10_000, reference: `evidence-${id}` })
  return { account_id: id, key: await shop.makeKey(scopes, id) }
}
async function buy(key: TestKey, idempotency_key: string, ...items: object[]) {
  const body = JSON.stringify({ items: items.length > 0 ? items : [{ id: pooled }], idempotency_key })
  const answer = await shop.call('POST', '/v1/orders', { body, key })
  return { ...answer, request_id: answer.headers.get('x-request-id') as string }
}
async function read(key: TestKey, order_id: string) {
  const answer = await shop.call('GET', `/v1/orders/${order_id}`, { key })
  return { ...answer, request_id: answer.headers.get('x-request-id') as string }
}
const delivered = (key: TestKey, order_id: string) =>
  expect.poll(async () => (await read(key, order_id)).body.status).toBe('delivered')
interface Row {
  readonly request_id: string
  readonly key_id: string
  readonly client_address: string
}
/** Those that bought, whose facts are in the order and in the answer to it, and the others. */
const attemptsOf = (account_id: string) =>
  shop.database.owner.many<Row & { status: number; outcome: string; is_sent: boolean; hash: string }>(sql`
    select request_id, key_id, client_address, status, outcome, is_sent, encode(request_hash, 'hex') as hash
      from (select account_id, request_id, key_id, client_address, status, outcome, is_sent, request_hash
              from order_attempts
             union all
            select o.account_id, o.request_id, o.key_id, o.client_address, 201, 'bought', a.is_sent, o.request_hash
              from order_answers a
              join orders o on o.account_id = a.account_id and o.id = a.order_id) attempts
     where account_id = ${account_id}
     order by request_id`)
const readsOf = (account_id: string) =>
  shop.database.owner.many<Row & { order_id: string; links: number; is_sent: boolean }>(sql`
    select request_id, key_id, client_address, order_id, links, is_sent
      from link_reads
     where account_id = ${account_id}
     order by request_id`)
/** The answer is there before its evidence is; waits until so many rows are written. */
async function recorded<Found>(rows: () => Promise<Found[]>, length: number): Promise<Found[]> {
  await expect
    .poll(async () => {
      await shop.evidence.flush()
      return (await rows()).length
    })
    .toBe(length)
  return rows()
}
const admin = (...args: string[]) => runAdminOn(shop, ...args)

describe('recording', () => {
  test('the request that bought and its address are written with the order', async () => {
    const { key } = await openAccount()
    const { body, request_id } = await buy(key, freshKey())
    const order = await shop.database.owner.one(sql`
      select request_id, client_address, key_id
        from orders
       where id = ${body.id}`)
    expect(order).toEqual({ request_id, client_address: '127.0.0.1', key_id: key.id })
  })

  test('every attempt with a valid body leaves its answer: refused, bought, replayed, another cart', async () => {
    const { account_id, key } = await openAccount()
    const second = await shop.makeKey(undefined, account_id)
    const idempotency_key = freshKey()
    const answers = [
      await buy(key, idempotency_key, { id: dear }),
      await buy(key, idempotency_key),
      await buy(second, idempotency_key),
      await buy(key, idempotency_key, { id: pooled, qty: 2 }),
    ]
    const rows = await recorded(() => attemptsOf(account_id), 4)
    const expected = [
      [402, 'insufficient_funds'],
      [201, 'bought'],
      [200, 'replayed'],
      [409, 'idempotency_conflict'],
    ]
    expect(rows.map(({ status, outcome }) => [status, outcome])).toEqual(expected)
    expect(rows.map(({ request_id }) => request_id)).toEqual(answers.map(({ request_id }) => request_id))
    expect(rows.map(({ key_id }) => key_id)).toEqual([key.id, key.id, second.id, key.id])
    expect(new Set(rows.map(({ client_address, is_sent }) => `${client_address} ${is_sent}`))).toEqual(
      new Set(['127.0.0.1 true']),
    )
    const [, bought, replayed, other] = rows.map(({ hash }) => hash)
    expect(replayed).toBe(bought)
    expect(other).not.toBe(bought)
  })

  test('a request that is refused before its body is known to be valid leaves nothing', async () => {
    const { account_id, key } = await openAccount()
    const reader = await shop.makeKey(['orders:read'], account_id)
    expect((await buy(key, 'short')).status).toBe(400)
    expect((await buy(reader, freshKey())).status).toBe(403)
    expect((await buy({ ...key, secret: 'wrong' }, freshKey())).status).toBe(401)
    expect((await buy(key, freshKey())).status).toBe(201)
    expect(await recorded(() => attemptsOf(account_id), 1)).toMatchObject([{ outcome: 'bought' }])
  })

  test('answers that carry links are recorded, by GET and by a replay with orders:read; no other answer is', async () => {
    const { account_id, key } = await openAccount()
    const writer = await shop.makeKey(['orders:write'], account_id)
    const idempotency_key = freshKey()
    const { body } = await buy(key, idempotency_key, { id: pooled, qty: 2 })
    await expect
      .poll(async () => (await admin('orders', 'show', body.id, '--json')).json().status)
      .toBe('delivered')
    expect((await buy(writer, idempotency_key, { id: pooled, qty: 2 })).body.links).toEqual([])
    expect((await shop.call('GET', '/v1/orders', { key })).status).toBe(200)
    const got = await read(key, body.id)
    const replayed = await buy(key, idempotency_key, { id: pooled, qty: 2 })
    expect([got.body.links.length, replayed.body.links.length]).toEqual([2, 2])
    const common = {
      key_id: key.id,
      client_address: '127.0.0.1',
      order_id: body.id,
      links: 2,
      is_sent: true,
    }
    expect(await recorded(() => readsOf(account_id), 2)).toEqual([
      { ...common, request_id: got.request_id },
      { ...common, request_id: replayed.request_id },
    ])
    expect(await recorded(() => attemptsOf(account_id), 3)).toHaveLength(3)
  })

  test('a caller that is gone before the answer has bought, and the attempt says that the answer was not sent', async () => {
    const { account_id, key } = await openAccount()
    const idempotency_key = freshKey()
    const body = JSON.stringify({ items: [{ id: pooled }], idempotency_key })
    const line = await openLine(shop.port)
    await shop.database.owner.transaction(async (tx) => {
      await tx.run(sql`select from balances where account_id = ${account_id} for update`)
      const headers = {
        ...signedHeaders(key, 'POST', '/v1/orders', Buffer.from(body)),
        'Content-Length': String(body.length),
      }
      line.send(requestBytes('POST', '/v1/orders', headers, body))
      await expect.poll(waitingSessions).toBe(1)
      line.socket.resetAndDestroy()
    })
    expect(await recorded(() => attemptsOf(account_id), 1)).toMatchObject([
      { outcome: 'bought', status: 201, is_sent: false },
    ])
    const proof = await admin('orders', 'prove', idempotency_key, '--account', account_id)
    expect(proof.out).toContain('201     bought, caller was gone before the answer')
    expect(proof.out).toContain('The caller closed the connection before it had the answer')
  })

  test('evidence that the database refuses is counted and logged, and no request notices', async () => {
    const { account_id, key } = await openAccount()
    await shop.database.asOwner('revoke insert on order_answers from shopwire_api_rights')
    const lost = async () => (await shop.metrics.evidenceLost.get()).values[0]?.value ?? 0
    try {
      expect((await buy(key, freshKey())).status).toBe(201)
      await expect
        .poll(async () => {
          await shop.evidence.flush()
          return lost()
        })
        .toBe(1)
    } finally {
      await shop.database.asOwner('grant insert on order_answers to shopwire_api_rights')
    }
    expect(lines.some((line) => line.includes('evidence of requests was lost'))).toBe(true)
    expect((await buy(key, freshKey())).status).toBe(201)
    expect(await recorded(() => attemptsOf(account_id), 1)).toMatchObject([{ outcome: 'bought' }])
  })

  test.each([
    ['order_answers', 'is_sent = false'],
    ['order_attempts', 'at = now()'],
    ['link_reads', 'at = now()'],
    ['evidence_retention', 'kept_since = now()'],
  ])('API, worker and operators can neither change nor remove rows of %s', async (table, change) => {
    for (const text of [`update ${table} set ${change}`, `delete from ${table}`])
      for (const db of [shop.database.api, shop.database.worker, shop.database.operator])
        await expect(db.run({ name: text, text, values: [] })).rejects.toThrow(/permission denied/)
  })
})

/** Sessions that wait for a lock. */
const waitingSessions = async () => {
  const { n } = await shop.database.owner.one<{ n: number }>(sql`
    select count(*) as n
      from pg_stat_activity
     where datname = current_database()
       and wait_event_type = 'Lock'`)
  return n
}

describe('retention', () => {
  const old = (daysAgo: number) =>
    shop.database.asOwner(`
      insert into order_attempts (account_id, idempotency_key, request_id, at, key_id, client_address, request_hash, status, outcome, is_sent)
      values ('acct_old', 'old-key', 'req_${daysAgo}', now() - interval '${daysAgo} days', 'key', '192.0.2.1', '\\x00', 402, 'insufficient_funds', true);
      insert into link_reads (account_id, order_id, request_id, at, key_id, client_address, links, is_sent)
      values ('acct_old', 'ord_old', 'req_${daysAgo}', now() - interval '${daysAgo} days', 'key', '192.0.2.1', 1, true)`)
  const left = async () => (await attemptsOf('acct_old')).map(({ request_id }) => request_id)
  const deleteOlderThan = async (days: number) =>
    (await deleteOldEvidence(shop.database.worker, new Date(Date.now() - days * DAY_MS))).removed
  const keptSince = async () =>
    (await shop.database.owner.one<{ kept_since: Date }>(sql`select kept_since from evidence_retention`))
      .kept_since

  test('removes what is older than asked for, and never the last 30 days', async () => {
    for (const days of [500, 401, 399, 29]) await old(days)
    expect(await deleteOlderThan(600)).toBe(0)
    const before = await keptSince()
    expect(await deleteOlderThan(400)).toBe(4)
    expect(await left()).toEqual(['req_29', 'req_399'])
    expect(await keptSince()).toEqual(before)
    expect(await deleteOlderThan(0)).toBe(2)
    expect(await deleteOlderThan(0)).toBe(0)
    expect(await left()).toEqual(['req_29'])
    await shop.database.asOwner(`update evidence_retention set kept_since = now() - interval '2 years'`)
    await old(450)
    await deleteOlderThan(400)
    // Up to what was deleted, not further.
    expect(Math.round((Date.now() - (await keptSince()).getTime()) / DAY_MS)).toBe(450)
    await shop.database.asOwner(`update evidence_retention set kept_since = '${before.toISOString()}'`)
  })

  test('several workers at once remove everything once, in chunks', async () => {
    await shop.database.asOwner(`
      insert into link_reads (account_id, order_id, request_id, at, key_id, client_address, links, is_sent)
      select 'acct_old', 'ord_old', 'req_many_' || n, now() - interval '500 days', 'key', '192.0.2.1', 1, true
        from generate_series(1, 1005) n`)
    let removed = 0
    for (let n = 0; n < 3; n += 1) {
      const parts = await Promise.all([deleteOlderThan(400), deleteOlderThan(400), deleteOlderThan(400)])
      removed += parts.reduce((sum, part) => sum + part, 0)
    }
    expect(removed).toBe(1005)
  })
})

describe('orders show', () => {
  test('says who bought by which request, all attempts, who read the links and what became of the events; never a link', async () => {
    const { account_id, key } = await openAccount()
    const hook = JSON.stringify({ url: 'https://93.184.216.34/hook' })
    expect((await shop.call('POST', '/v1/webhook', { key, body: hook })).status).toBe(200)
    const idempotency_key = freshKey()
    const bought = await buy(key, idempotency_key)
    const { id } = bought.body
    const conflict = await buy(key, idempotency_key, { id: pooled, qty: 2 })
    await delivered(key, id)
    const { request_id } = await read(key, id)
    await shop.operator.revealLinks(id)
    await shop.database.asOwner(`
      insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address)
      select d.account_id, d.endpoint_id, d.event_id, 1, n, now() + n * interval '1 s', now() + n * interval '1 s',
             case n when 1 then 503 else 200 end, case n when 1 then 'http_503' end, '93.184.216.34'
        from deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id, generate_series(1, 2) n
       where e.order_id = '${id}' and e.type = 'order.delivered'`)
    await recorded(() => attemptsOf(account_id), 2)
    await expect
      .poll(async () => {
        await shop.evidence.flush()
        return (await readsOf(account_id)).map((row) => row.request_id)
      })
      .toContain(request_id)

    const json = (await admin('orders', 'show', id, '--json')).json()
    expect(json).toMatchObject({
      id,
      idempotency_key,
      key: { id: key.id, name: 'test' },
      request_id: bought.request_id,
      client_address: '127.0.0.1',
      counts: { attempts: 2, replayed: 0, refused: 1 },
      attempts: [
        { request_id: bought.request_id, outcome: 'bought', status: 201, key_name: 'test', is_sent: true },
        { request_id: conflict.request_id, outcome: 'idempotency_conflict', status: 409 },
      ],
      operator_actions: [{ action: 'order.reveal_links', actor: 'test' }],
    })
    expect(json.link_reads[0]).toMatchObject({
      request_id,
      key_id: key.id,
      client_address: '127.0.0.1',
      links: 1,
    })
    expect(json.events.map(({ type }: { type: string }) => type)).toEqual([
      'order.accepted',
      'order.delivered',
    ])
    expect(json.events[1]).toMatchObject({
      url: 'https://93.184.216.34/hook',
      attempts: [
        { status: 503, error: 'http_503', remote_address: '93.184.216.34' },
        { status: 200, error: null },
      ],
    })
    const { out } = await admin('orders', 'show', id)
    expect(out).toContain(
      `Bought by        key ${key.id} "test", request ${bought.request_id} from 127.0.0.1`,
    )
    expect(out).toMatch(new RegExp(`${conflict.request_id} .* [0-9a-f]{12} other  409 +idempotency_conflict`))
    expect(out).toMatch(new RegExp(`${request_id}  ${key.id}  127\\.0\\.0\\.1  1 +sent`))
    expect(out).toMatch(/order\.delivered {2}503 +failed: http_503/)
    expect(out).toMatch(/order\.delivered {2}200 +accepted/)
    expect(out).toContain('--reveal-links')
    expect(out + JSON.stringify(json)).not.toContain(LINK)
  })

  test('names the operator who bought; no request is named', async () => {
    const bought = await shop.operator.placeOrder(shop.account.id, {
      items: [{ id: pooled }],
      idempotency_key: freshKey(),
    })
    const id = bought.kind === 'bought' ? bought.order.id : ''
    const { out } = await admin('orders', 'show', id)
    expect(out).toMatch(/Bought by +operator test\n/)
    expect(out).toMatch(/Operators:\n.*\n.* test +order\.place/)
    expect((await admin('orders', 'show', id, '--json')).json()).toMatchObject({
      request_id: null,
      counts: { attempts: 1 },
      attempts: [{ outcome: 'bought', actor: 'test', request_id: null }],
    })
  })
})

describe('orders prove', () => {
  test('one key, one order, one debit, however often it was sent; by the key and by the id of the order', async () => {
    const { account_id, key } = await openAccount()
    const idempotency_key = freshKey()
    const { body } = await buy(key, idempotency_key)
    await buy(key, idempotency_key)
    await buy(key, idempotency_key)
    await buy(key, idempotency_key, { id: pooled, qty: 3 })
    await recorded(() => attemptsOf(account_id), 4)
    for (const args of [[idempotency_key], [idempotency_key, '--account', account_id], [body.id]]) {
      const proof = await admin('orders', 'prove', ...args)
      expect(proof.code).toBe(EXIT.ok)
      expect(proof.out).toContain(
        [
          'Bought once: 4 attempts, one order, one debit of $1.00.',
          '2 attempts were answered with the same order and cost nothing.',
          '1 attempt was refused and cost nothing.',
          'Another cart came with this key and was not bought.',
        ].join('\n'),
      )
      expect(proof.out).toMatch(/Debit +tr_\w+ {2}-\$1\.00 .* balance after it \$99\.00/)
    }
    expect((await admin('orders', 'prove', body.id, '--json')).json()).toMatchObject({
      verdict: 'bought_once',
      account_id,
      orders: [{ id: body.id, total_cents: 100 }],
      debits: [{ change_cents: -100, balance_after_cents: 9_900, order_id: body.id }],
      refunds: [],
      counts: { attempts: 4, replayed: 2, refused: 1 },
    })
  })

  test('the attempt that bought is listed although its evidence was lost', async () => {
    const { account_id, key } = await openAccount()
    const idempotency_key = freshKey()
    const { request_id } = await buy(key, idempotency_key)
    await recorded(() => attemptsOf(account_id), 1)
    await shop.database.asOwner(`delete from order_answers where account_id = '${account_id}'`)
    const { out } = await admin('orders', 'prove', idempotency_key, '--account', account_id)
    expect(out).toMatch(new RegExp(`${request_id} .* bought, answer not recorded`))
    expect(out).toContain('Bought once: one attempt, one order, one debit of $1.00.')
  })

  test('an attempt that bought and was answered with 503 is listed once, as the one that bought', async () => {
    const { account_id, key } = await openAccount()
    const idempotency_key = freshKey()
    const { request_id } = await buy(key, idempotency_key)
    await recorded(() => attemptsOf(account_id), 1)
    // As when the connection to the database breaks between the commit and its confirmation.
    await shop.database.asOwner(`
      delete from order_answers where account_id = '${account_id}';
      insert into order_attempts (account_id, idempotency_key, request_id, at, key_id, client_address, request_hash, status, outcome, is_sent)
      select account_id, idempotency_key, request_id, created_at, key_id, client_address, request_hash, 503, 'service_unavailable', true
        from orders where account_id = '${account_id}'`)
    const { out } = await admin('orders', 'prove', idempotency_key, '--account', account_id)
    expect(out.split(request_id)).toHaveLength(2)
    expect(out).toMatch(new RegExp(`${request_id} .*503`))
    expect(out).toContain('Bought once: one attempt, one order, one debit of $1.00.')
    expect(out).not.toContain('refused')
  })

  test('a refunded order is bought once and refunded in full', async () => {
    const { key } = await openAccount()
    const idempotency_key = freshKey()
    const other = '10000000000000003'
    await putItems(shop.database.operator, [itemOf(other)])
    const { body } = await buy(key, idempotency_key, { id: other })
    await shop.operator.cancelOrder(body.id, 'test')
    const { code, out } = await admin('orders', 'prove', idempotency_key)
    expect(code).toBe(EXIT.ok)
    expect(out).toContain('one debit of $1.00, refunded in full.')
    expect(out).toMatch(/Refund +tr_\w+ {2}\$1\.00 .* balance after it \$100\.00/)
  })

  test('a key whose attempts were all refused has bought nothing and is still free', async () => {
    const { account_id, key } = await openAccount()
    const idempotency_key = freshKey()
    await buy(key, idempotency_key, { id: dear })
    await recorded(() => attemptsOf(account_id), 1)
    const { code, out } = await admin('orders', 'prove', idempotency_key)
    expect(code).toBe(EXIT.ok)
    expect(out).toContain('Never bought: one attempt, no order, no debit. The key is still free')
    expect(out).toContain('insufficient_funds')
  })

  test('exits 5 with the list when several accounts used the key, and 0 with --account', async () => {
    const [one, two] = [await openAccount(), await openAccount()]
    const idempotency_key = freshKey()
    await buy(one.key, idempotency_key)
    await buy(two.key, idempotency_key, { id: dear })
    await recorded(() => attemptsOf(two.account_id), 1)
    const both = await admin('orders', 'prove', idempotency_key)
    expect(both.code).toBe(EXIT.conflict)
    expect(both.out).toMatch(new RegExp(`${one.account_id} +ord_\\w+ +\\$1\\.00 +1`))
    expect(both.out).toMatch(new RegExp(`${two.account_id} +none +1`))
    expect(both.err).toContain(`orders prove ${idempotency_key} --account acct_`)
    const named = await admin('orders', 'prove', idempotency_key, '--account', one.account_id)
    expect([named.code, named.out.includes('Bought once')]).toEqual([EXIT.ok, true])
  })

  test('exits 4 when nothing is known, says what was searched and what to do next', async () => {
    const { account_id } = await openAccount()
    const everywhere = await admin('orders', 'prove', 'never-seen-before')
    expect(everywhere).toMatchObject({ code: EXIT.notFound, out: '' })
    expect(everywhere.err).toMatch(/all accounts were searched .* attempts since \d{4}-/)
    expect(everywhere.err).toContain('X-Request-Id')
    const here = await admin('orders', 'prove', 'never-seen-before', '--account', account_id)
    expect(here.code).toBe(EXIT.notFound)
    expect(here.err).toContain('leave out --account to search all')
    expect((await admin('orders', 'prove', 'never-seen-before', '--account', 'acct_none')).code).toBe(
      EXIT.notFound,
    )
  })

  test('exits 6 when order and debit do not fit together', async () => {
    const { key } = await openAccount()
    const idempotency_key = freshKey()
    const { body } = await buy(key, idempotency_key)
    await shop.database.asOwner(`
      set session_replication_role = replica;
      update orders set total_cents = 50 where id = '${body.id}'`)
    const proof = await admin('orders', 'prove', body.id)
    expect(proof).toMatchObject({ code: EXIT.violated, err: expect.stringContaining('read "Invariants"') })
    expect(proof.out).toContain('Not proven: one attempt, one order, one debit, no refunds.')
  })
})
