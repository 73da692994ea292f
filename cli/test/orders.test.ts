import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Shopwire } from '@shopwire/sdk'
import { describe, expect, test } from 'vitest'
import { emulatedStore, envOf, folder, ITEM, onTerminal, shopwire } from './support.ts'

/** Another item, so that making it unavailable does not affect other tests. */
const LANTERN = '1144058340332047016'
const MORE_THAN_A_PAGE = 120

const store = emulatedStore()
const { run, json } = store

describe('buying', () => {
  test('refuses an order without a key and says why', async () => {
    const { code, stderr } = await run('orders', 'create', '--item', ITEM, '--yes')
    expect(code).toBe(2)
    expect(stderr).toContain('keeps a repeated order from buying twice')
  })

  test('without a terminal and without --yes nothing is sent', async () => {
    const before = await json('balance')
    for (const more of [[], ['--json']]) {
      expect((await run('orders', 'create', '--item', ITEM, '--key', 'unasked-1', ...more)).code).toBe(2)
    }
    expect(await json('balance')).toEqual(before)
    const { requests } = await store.emulator.control<{ requests: { idempotency_key: string }[] }>(
      'GET',
      '/requests?limit=500',
    )
    expect(requests.filter(({ idempotency_key }) => idempotency_key === 'unasked-1')).toEqual([])
  })

  test('on a terminal shows quote and balance, asks, and buys only after yes', async () => {
    const args = ['orders', 'create', '--item', ITEM, '--key', 'asked-0001']
    const no = await onTerminal(args, store.env, '\r', /\[y\/N\]/)
    expect(no.code).toBe(1)
    expect(no.stdout).toMatch(/Balance.*now, .*after; unchanged if this key bought before/)
    expect(no.stdout).toContain('Nothing was sent')
    const yes = await onTerminal(args, store.env, 'y\r', /\[y\/N\]/)
    expect(yes.code).toBe(0)
    expect(yes.stdout).toContain('Bought')
  })

  test('orders at the quoted price, reports a replay, and shows links only with --links', async () => {
    const create = ['orders', 'create', '--item', `${ITEM}:2`, '--key', 'buy-0001', '--yes']
    const first = await json(...create)
    expect(first).toMatchObject({ replayed: false, total_cents: 998, idempotency_key: 'buy-0001' })
    const { requests } = await store.emulator.control<{
      requests: { body: string; idempotency_key: string }[]
    }>('GET', '/requests?limit=500')
    expect(requests.find(({ idempotency_key }) => idempotency_key === 'buy-0001')?.body).toContain(
      '"expected_price_cents":499',
    )
    await expect.poll(async () => (await json('orders', 'get', first.id)).status).toBe('delivered')
    const again = await run(...create)
    expect(again).toMatchObject({ code: 0 })
    expect(again.stdout).toContain('Replayed')
    expect(again.stdout).toContain('2 gift links, hidden')
    expect(again.stdout + JSON.stringify(await json('orders', 'get', first.id))).not.toContain('https://gift')
    expect((await json('orders', 'get', first.id, '--links')).links).toHaveLength(2)
    expect((await run('orders', 'get', first.id, '--links')).stdout).toMatch(/^https:\/\//m)
    expect((await json('orders', 'list')).orders[0].id).toBe(first.id)
  })

  test('after all answers were lost, prints the command to repeat, which buys once', async () => {
    const before = (await json('balance')).balance_cents
    await store.emulator.arm({ name: 'lost_answer', times: 3 })
    const lost = await run('orders', 'create', '--item', ITEM, '--key', 'lost-0001', '--yes')
    expect(lost.code).toBe(7)
    expect(lost.stderr).toContain('not known whether the order was bought')
    const command = /^ +shopwire (orders create .*)$/m.exec(lost.stderr)?.[1] ?? ''
    expect(command).toBe(`orders create --item ${ITEM}:1@499 --key lost-0001 --yes`)
    const again = await run(...command.split(' '))
    expect(again.stdout).toContain('Replayed')
    expect((await json('balance')).balance_cents).toBe(before - 499)
  })

  test('the printed command has the same profile, because in another account the key would buy again', async () => {
    await store.emulator.arm({ name: 'lost_answer', times: 3 })
    const options = ['--item', ITEM, '--key', 'lost-0002', '--yes', '--links']
    const here = { XDG_CONFIG_HOME: await folder() }
    await shopwire(['profile', 'add', 'named', '--emulator', store.emulator.url], { env: here })
    const lost = await shopwire(['--profile', 'named', 'orders', 'create', ...options], { env: here })
    expect(lost.stderr).toMatch(/^ +shopwire orders create .* --yes --links --profile named$/m)
  })

  test('the same command finds its order although the item is no longer available', async () => {
    const create = ['orders', 'create', '--item', `${LANTERN}:1@399`, '--key', 'gone-0001', '--yes']
    const bought = await json(...create)
    await store.emulator.control('POST', `/items/${LANTERN}`, { sellable: false })
    expect(await json(...create)).toMatchObject({ id: bought.id, replayed: true })
    // A new key buys nothing, with a pinned price or without.
    expect((await run(...create.with(5, 'gone-0002'))).code).toBe(5)
    expect((await run('orders', 'create', '--item', LANTERN, '--key', 'gone-0003', '--yes')).code).toBe(5)
    await store.emulator.control('POST', `/items/${LANTERN}`, { sellable: true })
  })

  test('another cart under a used key is a conflict, not a replay', async () => {
    await run('orders', 'create', '--item', ITEM, '--key', 'twice-0001', '--yes')
    const { code, stderr } = await run(
      'orders',
      'create',
      '--item',
      `${ITEM}:3`,
      '--key',
      'twice-0001',
      '--yes',
    )
    expect(code).toBe(5)
    expect(stderr).toContain('has already bought another cart')
  })

  test('a key with only orders:write buys at the given prices', async () => {
    const account = await store.emulator.createAccount({ scopes: ['orders:write'] })
    const theirs = envOf({ ...store.emulator, ...account })
    expect(
      (await shopwire(['orders', 'create', '--item', ITEM, '--key', 'write-0001', '--yes'], { env: theirs }))
        .code,
    ).toBe(2)
    const bought = await shopwire(
      ['orders', 'create', '--item', `${ITEM}@499`, '--key', 'write-0001', '--yes'],
      { env: theirs },
    )
    expect(bought).toMatchObject({ code: 0, stderr: expect.stringContaining('lacks account:read') })
  })
})

describe('waiting', () => {
  const buy = (key: string) => json('orders', 'create', '--item', ITEM, '--key', key, '--yes')

  test('wait exits with 0 for a delivered order and shows links with --links', async () => {
    const { id } = await buy('wait-0001')
    const { code, stdout } = await run('orders', 'wait', id)
    expect(code).toBe(0)
    expect(stdout).toContain('1 gift link, hidden')
    expect((await json('orders', 'wait', id, '--links')).links).toHaveLength(1)
  })

  test('wait exits with 1 for a cancelled order', async () => {
    await store.emulator.arm({ name: 'supplier_failure' })
    const { id } = await buy('wait-0002')
    const { code, stdout } = await run('orders', 'wait', id)
    expect(code).toBe(1)
    expect(stdout).toContain('refunded in full')
  })

  test('wait exits with 7 when the time is up and prints the command to wait again', async () => {
    await store.emulator.arm({ name: 'slow_fulfilment' })
    const { id } = await buy('wait-0003')
    const { code, stderr } = await run('orders', 'wait', id, '--within', '1')
    expect(code).toBe(7)
    expect(stderr).toContain('Do not buy it again')
    expect(stderr).toMatch(new RegExp(`^ +shopwire orders wait ${id}$`, 'm'))
    expect((await run('orders', 'wait', id)).code).toBe(0)
  })

  test('wait fails at once for an unknown order', async () => {
    expect((await run('orders', 'wait', 'ord_00000000000000000000000009')).code).toBe(4)
  })
})

describe('proving', () => {
  test('prove shows every attempt of a key, one order, one debit', async () => {
    await store.emulator.arm({ name: 'lost_answer' })
    const bought = await run('orders', 'create', '--item', ITEM, '--key', 'prove-0001', '--yes')
    expect(bought.stdout).toContain('Bought once')
    const proof = await json('orders', 'prove', 'prove-0001')
    expect(proof).toMatchObject({
      verdict: 'bought_once',
      orders: [{ total_cents: 499 }],
      debits: [{ amount_cents: -499 }],
    })
    expect(proof.attempts.map(({ status }: { status: number }) => status)).toEqual([201, 200])
    expect(new Set(proof.attempts.map((one: { body_sha256: string }) => one.body_sha256)).size).toBe(1)
    expect(await json('orders', 'prove', proof.orders[0].id)).toEqual(proof)
    expect((await run('orders', 'prove', 'prove-0001')).stdout).toContain(
      'Bought once: 2 attempts, one order, one debit',
    )
  })

  test('prove reports a refused key as never bought and an unknown key as not found, without buying', async () => {
    const before = await json('balance')
    await run('orders', 'create', '--item', `${ITEM}@1`, '--key', 'prove-0002', '--yes')
    expect(await json('orders', 'prove', 'prove-0002')).toMatchObject({ verdict: 'never_bought', debits: [] })
    expect((await run('orders', 'prove', 'prove-unknown')).code).toBe(4)
    expect(await json('balance')).toEqual(before)
  })
})

describe('exporting', () => {
  test('export has every order once, with all fields of an emulator', async () => {
    const path = join(await folder(), 'orders.csv')
    const report = await json('orders', 'export', '--out', path)
    const [header, ...rows] = (await readFile(path, 'utf8')).trimEnd().split('\r\n')
    expect(header).toBe('id,status,total_cents,currency,created_at,idempotency_key,delivered_at,refunded_at')
    expect(rows).toHaveLength(report.orders)
    const { total } = await json('orders', 'list', '--limit', '1')
    expect(report.orders).toBe(total)
    expect((await run('reconcile', path, '--export', path)).stdout).toContain('No differences')
    expect((await run('reconcile', path)).stdout).toContain('No differences')
  })

  test('export through the API has five columns, over several pages', async () => {
    const account = await store.emulator.createAccount({ balanceCents: 500_000 })
    const theirs = envOf({ ...store.emulator, ...account })
    const shop = new Shopwire({
      keyId: account.key.id,
      secret: account.key.secret,
      baseUrl: store.emulator.baseUrl,
    })
    const bought = Array.from({ length: MORE_THAN_A_PAGE }, (_, n) =>
      shop.orders.create({ items: [{ id: LANTERN }], idempotencyKey: `export-${n}-0001` }),
    )
    await Promise.all(bought)
    const path = join(await folder(), 'orders.csv')
    const { stdout } = await shopwire(['orders', 'export', '--out', path, '--json'], { env: theirs })
    expect(JSON.parse(stdout)).toMatchObject({
      orders: MORE_THAN_A_PAGE,
      columns: ['id', 'status', 'total_cents', 'currency', 'created_at'],
    })
    const mine = join(await folder(), 'mine.csv')
    await writeFile(mine, 'idempotency_key,total_cents\nexport-1-0001,399\n')
    expect((await shopwire(['reconcile', mine], { env: theirs })).stderr).toContain('only idempotency keys')
    // Without their status, which may have changed meanwhile.
    const rows = (await readFile(path, 'utf8'))
      .trimEnd()
      .split('\r\n')
      .map((row) => row.split(','))
    await writeFile(mine, rows.map(([id, , total]) => `${id},${total}\n`).join(''))
    expect((await shopwire(['reconcile', mine], { env: theirs })).stdout).toContain('No differences')
  })
})
