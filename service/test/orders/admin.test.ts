import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [pooled, byHand] = ['10000000000000001', '10000000000000002'] as const
let shop: Shop
let worker: ReturnType<typeof startWorker>
let folder: string
beforeAll(async () => {
  shop = await openShop()
  worker = startWorker(shop)
  folder = await mkdtemp(join(tmpdir(), 'shopwire-admin-'))
  await putItems(shop.database.operator, [itemOf(pooled), itemOf(byHand, { price_cents: 250 })])
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await worker.stop()
  await shop.close()
})

const admin = (...args: string[]) => runAdminOn(shop, ...args)
async function fileOf(...lines: string[]) {
  const path = join(folder, `${lines.length}-${performance.now()}.txt`)
  await writeFile(path, `${lines.join('\n')}\n`)
  return path
}
let keys = 0
async function bought(...items: string[]) {
  keys += 1
  const { json } = await admin(
    'orders',
    'place',
    shop.account.id,
    ...items,
    '--key',
    `admin-key-${keys}`,
    '--json',
  )
  return json().order.id as string
}
const status = async (id: string) => (await admin('orders', 'show', id, '--json')).json().status

describe('orders', () => {
  test('an operator buys for an account by the same rules; the same key buys once', async () => {
    const buy = () => admin('orders', 'place', shop.account.id, `${byHand}:2:250`, '--key', 'same-key-1')
    expect(await buy()).toMatchObject({
      code: EXIT.ok,
      out: expect.stringMatching(/^Bought ord_\w+ for \$5\.00/),
    })
    expect(await buy()).toMatchObject({
      code: EXIT.ok,
      out: expect.stringMatching(/before; nothing was charged/),
    })
    const dear = await admin('orders', 'place', shop.account.id, `${byHand}:1:9`, '--key', 'another-key')
    expect(dear).toMatchObject({ code: EXIT.conflict, err: expect.stringContaining('not the expected one') })
    for (const [item, key] of [
      ['123', 'valid-key-1'],
      [`${byHand}:11`, 'valid-key-1'],
      [byHand, 'short'],
    ] as const) {
      expect((await admin('orders', 'place', shop.account.id, item, '--key', key)).code).toBe(EXIT.usage)
    }
    const twice = await admin('orders', 'place', shop.account.id, byHand, byHand, '--key', 'valid-key-2')
    expect(twice).toMatchObject({ code: EXIT.usage, err: expect.stringContaining('appears twice') })
  })

  test('a waiting order is listed with its reason; delivered by hand it is no longer listed', async () => {
    const id = await bought(`${byHand}:2`)
    await expect
      .poll(async () => (await admin('orders', 'waiting')).out)
      .toMatch(new RegExp(`${id}.*2 to be delivered by hand`))
    const wrong = await admin('orders', 'deliver', id, await fileOf('https://gift.example/one'))
    expect(wrong).toMatchObject({ code: EXIT.usage, err: expect.stringContaining('lacks 2 links') })
    const links = ['https://gift.example/h1', 'https://gift.example/h2']
    expect((await admin('orders', 'deliver', id, await fileOf(...links))).out).toBe(`Delivered ${id}.\n`)
    expect((await admin('orders', 'waiting')).out).not.toContain(id)
    const shown = await admin('orders', 'show', id)
    expect(shown.out).toMatch(/delivered \d{4}-/)
    expect(shown.out).not.toContain('gift.example')
    expect((await admin('orders', 'show', id, '--reveal-links')).out).toContain(links.join('\n'))
    const { json } = await admin('audit', '--target', id, '--json')
    expect(json().actions.map(({ action }: { action: string }) => action)).toEqual([
      'order.reveal_links',
      'order.deliver',
      'order.place',
    ])
    expect(JSON.stringify(json())).not.toContain('gift.example')
  })

  test('exits 0 when a delivered order is delivered again with the same links, 5 when with others', async () => {
    const id = await bought(`${byHand}:2`)
    const links = ['https://gift.example/once-1', 'https://gift.example/once-2']
    await admin('orders', 'deliver', id, await fileOf(...links))
    expect(await admin('orders', 'deliver', id, await fileOf(...links))).toMatchObject({
      code: EXIT.ok,
      out: `${id} is already delivered with these links; nothing was done.\n`,
    })
    for (const [others, used] of [
      [['https://gift.example/other-1', 'https://gift.example/other-2'], 0],
      [['https://gift.example/once-1', 'https://gift.example/other-2'], 1],
      [['https://gift.example/once-1'], 1],
      [[...links].reverse(), 2],
    ] as const) {
      const refused = await admin('orders', 'deliver', id, await fileOf(...others))
      expect(refused).toMatchObject({ code: EXIT.conflict, out: '' })
      expect(refused.err).toContain(`Of the ${others.length} links given now ${used} belong to it`)
      expect(refused.err).toContain('NOT used')
      expect(refused.err).not.toContain('gift.example')
    }
    expect((await admin('orders', 'show', id, '--reveal-links')).out).toContain(links.join('\n'))
  })

  test('exits 5 when a delivered order is cancelled, and returns no money', async () => {
    const id = await bought(byHand)
    await admin('orders', 'deliver', id, await fileOf('https://gift.example/kept'))
    const before = (await admin('accounts', 'show', shop.account.id, '--json')).json().balance_cents
    expect(await admin('orders', 'cancel', id, '--reason', 'late')).toMatchObject({
      code: EXIT.conflict,
      err: expect.stringContaining('delivered already; that is final'),
    })
    expect((await admin('accounts', 'show', shop.account.id, '--json')).json().balance_cents).toBe(before)
  })

  test('cancelling prints the refund and is final', async () => {
    const id = await bought(byHand)
    expect((await admin('orders', 'cancel', id, '--reason', 'sold out')).out).toBe(
      `Cancelled ${id}; $2.50 went back to ${shop.account.id}.\n`,
    )
    expect((await admin('orders', 'cancel', id, '--reason', 'again')).out).toMatch(/cancelled before/)
    expect((await admin('orders', 'deliver', id, await fileOf('https://gift.example/late'))).code).toBe(
      EXIT.conflict,
    )
    expect((await admin('orders', 'retry', id)).code).toBe(EXIT.usage)
    expect((await admin('orders', 'show', id)).out).toContain('cancelled')
  })

  test.each(['ord_00000000000000000000000000', 'nonsense', ''])(
    'exits 4 for the unknown order "%s"',
    async (id) => {
      expect((await admin('orders', 'show', id)).code).toBe(EXIT.notFound)
    },
  )
})

describe('funding', () => {
  test('exits 5 when the reference has credited another account; --reference-used-elsewhere books it and is audited', async () => {
    const { id } = (await admin('accounts', 'create', 'Other', '--json')).json()
    const args = ['accounts', 'fund', id, '7.00', '--reference', 'opening']
    const refused = await admin(...args)
    expect(refused).toMatchObject({
      code: EXIT.conflict,
      out: '',
      err: expect.stringContaining(shop.account.id),
    })
    expect((await admin(...args, '--reference-used-elsewhere')).code).toBe(EXIT.ok)
    const [entry] = (await admin('audit', '--target', id, '--json')).json().actions
    expect(entry).toMatchObject({
      action: 'account.fund',
      details: { reference_used_elsewhere: true, alsoBookedAs: { account_id: shop.account.id } },
    })
  })

  test('exits 2 when the reference is known with another amount, and books nothing', async () => {
    const { id } = (await admin('accounts', 'create', 'Twice', '--json')).json()
    const fund = (amount: string) => admin('accounts', 'fund', id, amount, '--reference', 'wire-twice')
    expect((await fund('7.00')).code).toBe(EXIT.ok)
    expect((await fund('7.00')).out).toMatch(/^Already booked, nothing moved:/)
    expect(await fund('8.00')).toMatchObject({
      code: EXIT.usage,
      err: expect.stringContaining('recorded with another amount (700 cents)'),
    })
    expect((await admin('accounts', 'show', id, '--json')).json().balance_cents).toBe(700)
  })
})

describe('pools', () => {
  test('are loaded from a file, waiting orders are delivered, and levels are shown', async () => {
    const links = ['https://gift.example/p1', 'https://gift.example/p2', 'https://gift.example/p1']
    const loaded = await admin('pool', 'load', pooled, await fileOf(...links))
    expect(loaded.out).toMatch(/Loaded 2 links; the pool of \d+ holds 2\.\nSkipped 1, .* line 3\./)
    await admin('supply', 'set', pooled, '--warn-below', '2')
    const id = await bought(pooled)
    await expect.poll(() => status(id)).toBe('delivered')
    expect((await admin('pool', 'levels', '--low')).out).toMatch(new RegExp(`${pooled} +pool +1 +2 +LOW`))
    const last = await bought(pooled)
    await expect.poll(() => status(last)).toBe('delivered')
    expect((await admin('pool', 'levels')).out).toContain('EMPTY: not sellable')
  })

  test('exits 5 when none of the links was loaded, 0 when some were', async () => {
    const links = ['https://gift.example/l1', 'https://gift.example/l2']
    await admin('pool', 'load', pooled, await fileOf(...links))
    const again = await admin('pool', 'load', pooled, await fileOf(...links), '--json')
    expect(again.json()).toMatchObject({ loaded: 0, known: [1, 2] })
    expect(again.code).toBe(EXIT.conflict)
    expect(JSON.parse(again.err)).toMatchObject({
      error: { type: 'not_as_asked', message: expect.stringContaining('None of the 2 links was loaded') },
    })
    const some = await admin('pool', 'load', pooled, await fileOf(...links, 'https://gift.example/l3'))
    expect(some.code).toBe(EXIT.ok)
  })

  test('an invalid line is reported by its number, and its text is never shown', async () => {
    const file = await fileOf('https://gift.example/good', 'ftp://gift.example/secret')
    const refused = await admin('pool', 'load', pooled, file)
    expect(refused).toMatchObject({ code: EXIT.usage, err: expect.stringContaining('Line 2 is not a link') })
    expect(refused.err).not.toContain('secret')
    expect((await admin('pool', 'load', '99999999999999999', file)).code).not.toBe(EXIT.ok)
    expect((await admin('pool', 'load', pooled, '/nowhere')).err).toContain('ENOENT')
  })
})

describe('suppliers, windows, rules', () => {
  test('a supplier needs TLS, its secret is shown once, and it can be paused', async () => {
    expect((await admin('suppliers', 'create', 'plain', 'http://acme.example/')).code).toBe(EXIT.usage)
    const made = await admin('suppliers', 'create', 'acme', 'https://acme.example/links')
    expect(made.out).toMatch(/Secret {2}sup_[\w-]{43}/)
    expect((await admin('suppliers', 'create', 'acme', 'https://acme.example/')).err).toContain('already')
    const listed = await admin('suppliers', 'list', '--json')
    expect(JSON.stringify(listed.json())).not.toMatch(/sup_|sealed/)
    expect((await admin('suppliers', 'pause', 'acme')).out).toContain('paused')
    expect((await admin('suppliers', 'pause', 'nobody')).code).toBe(EXIT.notFound)
    expect((await admin('supply', 'set', byHand, '--supplier', 'acme', '--fallback', 'acme')).code).toBe(
      EXIT.usage,
    )
    expect((await admin('supply', 'set', byHand, '--supplier', 'acme', '--sku', 'X')).out).toContain(
      'supplier "acme"',
    )
    expect((await admin('supply', 'set', byHand, '--source', 'hand')).out).toContain(
      'an operator delivers it',
    )
    expect((await admin('supply', 'set', byHand, '--source', 'magic')).code).toBe(EXIT.usage)
  })

  test('windows are planned, listed and called off', async () => {
    const planned = await admin(
      'store',
      'plan',
      '--from',
      '2099-12-24T22:00:00Z',
      '--for',
      '2h',
      '--reason',
      'party',
    )
    expect(planned.out).toContain('closed from 2099-12-24 22:00:00 to 2099-12-25 00:00:00 UTC')
    const [, id = ''] = /store unplan (\S+)/.exec(planned.out) ?? []
    expect((await admin('store', 'show')).out).toContain('party')
    expect((await admin('store', 'unplan', id)).code).toBe(EXIT.ok)
    expect((await admin('store', 'show')).out).toContain('No closing is planned.')
    for (const times of [['--from', 'tomorrow', '--for', '1h'], ['--until', '2001-01-01T00:00:00Z'], []]) {
      expect((await admin('store', 'plan', ...times, '--reason', 'x')).code).toBe(EXIT.usage)
    }
  })

  test('store open exits 5 inside planned windows, names them and their end, and 0 once they are called off', async () => {
    const plan = async (...times: string[]) =>
      (await admin('store', 'plan', ...times, '--reason', 'stocktaking', '--json')).json()
    const first = await plan('--for', '1h')
    const second = await plan('--from', new Date(Date.now() + 1_800_000).toISOString(), '--for', '2h')
    const end = second.opens_at.replace('T', ' ').slice(0, 19)

    const closed = await admin('store', 'open')
    expect(closed).toMatchObject({ code: EXIT.conflict, out: expect.not.stringMatching(/is open/) })
    expect(closed.err).toContain(`still CLOSED until ${end} UTC`)
    expect(closed.err).toContain(`store unplan ${first.id}`)
    expect(closed.err).not.toContain(second.id)
    const json = await admin('store', 'open', '--json')
    expect(json.code).toBe(EXIT.conflict)
    expect(json.json()).toMatchObject({ is_open: true, is_open_now: false, windows: [{ id: first.id }] })

    await admin('store', 'unplan', first.id)
    await admin('store', 'unplan', second.id)
    expect(await admin('store', 'open')).toMatchObject({
      code: EXIT.ok,
      out: expect.stringMatching(/^The store is open since/),
    })
  })

  test('store open exits 5 on an unconfirmed database, and does not print that the store is open', async () => {
    await shop.database.asOwner('update database_identity set timeline = timeline + 1')
    const refused = await admin('store', 'open')
    await shop.database.asOwner('update database_identity set timeline = timeline - 1')
    expect(refused).toMatchObject({ code: EXIT.conflict, out: expect.not.stringMatching(/is open/) })
    expect(refused.err).toContain('recover status')
  })

  test('calling off a window that has ended exits 5', async () => {
    const { id } = (await admin('store', 'plan', '--for', '1h', '--reason', 'x', '--json')).json()
    await shop.database.asOwner(
      `update store_windows set closes_at = now() - interval '2h', opens_at = now() - interval '1h' where id = '${id}'`,
    )
    expect(await admin('store', 'unplan', id)).toMatchObject({
      code: EXIT.conflict,
      err: expect.stringContaining('nothing to cancel'),
    })
  })

  test('the refund rule is shown and set', async () => {
    expect((await admin('refunds', 'rule')).out).toContain(
      'after 24 hours is cancelled and refunded, up to 50 an hour',
    )
    expect((await admin('refunds', 'rule', '--cancel-after', '2d')).out).toContain('48 hours')
    expect((await admin('refunds', 'rule', '--cancel-after', '90m')).out).toContain('90 minutes')
    expect((await admin('refunds', 'rule', '--cancel-after', 'soon')).code).toBe(EXIT.usage)
    expect((await admin('refunds', 'rule', '--cancel-after', 'never')).out).toContain('until an operator')
  })
})
