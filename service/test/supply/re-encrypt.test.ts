import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { createOperator } from '../../src/operations/operator.ts'
import { countSealed, SEALED_COLUMNS } from '../../src/operations/sealed-columns.ts'
import { openLinks } from '../../src/orders/reading/read-orders.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql, statement } from '../../src/platform/database/db.ts'
import { type Keyring, localKeks, openKeyring } from '../../src/platform/encryption/encryption.ts'
import { reEncryptColumn } from '../../src/platform/encryption/re-encrypt.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { createLinkVault, poolLinkSecrets } from '../../src/supply/gift-link.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { call, openShop, type Shop } from '../../testing/shop.ts'

const [old, next] = [randomBytes(32), randomBytes(32)]
const ITEM = '10000000000000001'
const both = () =>
  localKeks(
    new Map([
      ['old', old],
      ['next', next],
    ]),
    'next',
  )
const silent = { onUnopened() {} }

let shop: Shop
const openOldShop = async () => {
  shop = await openShop({ keyring: openKeyring(localKeks(new Map([['old', old]]), 'old')) })
  await putItems(shop.database.operator, [itemOf(ITEM)])
}
afterEach(() => shop.close())

const poolLinks = (keyring: Keyring) =>
  shop.database.owner
    .many<{ id: string; link_sealed: Buffer }>(
      sql`select id, link_sealed from pool_links where item_id = ${ITEM}`,
    )
    .then((rows) =>
      Promise.all(
        rows.map(({ id, link_sealed }) =>
          keyring.open(link_sealed, poolLinkSecrets.bindingOf({ item_id: ITEM, id })),
        ),
      ),
    )

test('every value gets a new data key and ciphertext under the new encryption key; the old one opens nothing, the values are the same', async () => {
  await openOldShop()
  await shop.operator.createSupplier({
    name: 'acme',
    url: 'https://acme.example/links',
    timeout_ms: 1_000,
    allowHttp: false,
  })
  const link = 'https://gift.example/bought'
  const bought = await call(shop.port, shop.key, 'POST', '/v1/orders', {
    body: JSON.stringify({ items: [{ id: ITEM }], idempotency_key: 're-encrypt-1' }),
  })
  await shop.operator.deliverOrder(bought.body.id, [link])
  await shop.operator.loadPool(ITEM, ['https://gift.example/pooled'])
  const before = await allSealed()
  expect(await countSealed(shop.database.operator)).toEqual([{ kek_id: 'old', secrets: 5 }])

  const keks = both()
  const dataKeys = { unwrapped: new Set<string>(), wrapped: new Set<string>() }
  const watched = openKeyring({
    ...keks,
    wrap(id, dataKey, context) {
      dataKeys.wrapped.add(dataKey.toString('hex'))
      return keks.wrap(id, dataKey, context)
    },
    async unwrap(id, wrapped, context) {
      const dataKey = await keks.unwrap(id, wrapped, context)
      dataKeys.unwrapped.add(dataKey.toString('hex'))
      return dataKey
    },
  })
  const operator = createOperator(
    {
      db: shop.database.operator,
      keyring: watched,
      clock: systemClock,
      cell: 'c1',
      admission: async () => shop.admission,
    },
    'test',
  )
  expect(await operator.reEncryptSecrets(silent)).toEqual({ re_encrypted: 5, unopened: 0 })
  expect(await countSealed(shop.database.operator)).toEqual([{ kek_id: 'next', secrets: 5 }])
  expect([dataKeys.unwrapped.size, dataKeys.wrapped.size]).toEqual([5, 5])
  expect([...dataKeys.wrapped].filter((dataKey) => dataKeys.unwrapped.has(dataKey))).toEqual([])
  const after = await allSealed()
  // The last bytes are the value, encrypted with its data key.
  const tails = new Set(before.map(({ sealed }) => sealed.subarray(-16).toString('hex')))
  for (const { sealed, binding } of after) {
    expect(tails).not.toContain(sealed.subarray(-16).toString('hex'))
    const withOldKey = openKeyring(localKeks(new Map([['next', old]]), 'next'))
    await expect(withOldKey.open(sealed, binding)).rejects.toThrow()
  }
  expect(await operator.reEncryptSecrets(silent)).toEqual({ re_encrypted: 0, unopened: 0 })

  const onlyNext = createLinkVault(
    shop.database.worker,
    openKeyring(localKeks(new Map([['next', next]]), 'next')),
  )
  const order = { account_id: shop.account.id, id: bought.body.id as string }
  expect(await openLinks(shop.database.api, onlyNext, order)).toEqual([link])
  // The fingerprints still recognise links that came in under the old key.
  expect(await operator.loadPool(ITEM, [link])).toMatchObject({ loaded: 0, known: [1] })
})

test('a value that changes and a row that is locked meanwhile: neither is waited for or overwritten, the next pass does the rest', async () => {
  await openOldShop()
  const links = Array.from({ length: 600 }, (_, n) => `https://gift.example/${n}`)
  await shop.operator.loadPool(ITEM, links)
  const keyring = openKeyring(both())
  const [locked = '', changed = ''] = (
    await shop.database.owner.many<{ id: string }>(
      sql`select id from pool_links where item_id = ${ITEM} order by id limit 2`,
    )
  ).map(({ id }) => id)
  let release = () => {}
  let isHeld = () => {}
  const held = new Promise<void>((resolve) => {
    isHeld = resolve
  })
  const holding = shop.database.operator.transaction(async (tx) => {
    await tx.one(sql`select id from pool_links where item_id = ${ITEM} and id = ${locked} for update`)
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    isHeld()
    await until
  })
  await held
  let isChanged = false
  const racing: Keyring = {
    ...keyring,
    async open(sealed, binding) {
      // Between the reading of the window and its writing.
      if (!isChanged) {
        isChanged = true
        const { bytes } = await keyring.seal(
          'https://gift.example/new',
          poolLinkSecrets.bindingOf({ item_id: ITEM, id: changed }),
        )
        await shop.database.owner.run(sql`
          update pool_links set link_sealed = ${bytes}, link_kek_id = 'next' where item_id = ${ITEM} and id = ${changed}`)
      }
      return keyring.open(sealed, binding)
    },
  }
  const written: number[] = []
  const done = await reEncryptColumn(shop.database.operator, racing, poolLinkSecrets, {
    ...silent,
    onProgress(_, count) {
      written.push(count)
      // Both windows of the first pass went by the locked row.
      if (count >= 598) release()
    },
  })
  await holding
  expect(written.slice(0, 2)).toEqual([498, 598])
  expect(done).toBe(599)
  expect(await countSealed(shop.database.operator)).toContainEqual({ kek_id: 'next', secrets: 600 })
  const opened = await poolLinks(openKeyring(localKeks(new Map([['next', next]]), 'next')))
  expect(opened).toContain('https://gift.example/new')
  expect(links.filter((link) => !opened.includes(link))).toHaveLength(1)
})

test('interrupted after 500 of 700 values: what was done stays done, and the next run does the other 200', async () => {
  await openOldShop()
  await shop.operator.loadPool(
    ITEM,
    Array.from({ length: 700 }, (_, n) => `https://gift.example/${n}`),
  )
  const keyring = openKeyring(both())
  let sealed = 0
  const failing: Keyring = {
    ...keyring,
    async seal(...args) {
      sealed += 1
      if (sealed > 600) throw new Unavailable('database', new Error('gone'))
      return keyring.seal(...args)
    },
  }
  await expect(reEncryptColumn(shop.database.operator, failing, poolLinkSecrets, silent)).rejects.toThrow(
    Unavailable,
  )
  expect(await countSealed(shop.database.operator)).toContainEqual({ kek_id: 'next', secrets: 500 })
  expect(await reEncryptColumn(shop.database.operator, keyring, poolLinkSecrets, silent)).toBe(200)
  expect(new Set(await poolLinks(keyring)).size).toBe(700)
})

test('every column of sealed values in the database is among those that are re-encrypted', async () => {
  await openOldShop()
  const { columns } = await shop.database.owner.one<{ columns: string[] }>(sql`
    select array_agg(table_name || '.' || column_name) as columns
      from information_schema.columns
      join information_schema.tables using (table_schema, table_name)
     where table_schema = 'shopwire'
       and table_type = 'BASE TABLE'
       and column_name like '%\\_sealed'
       -- A known text under each key, which tells nothing.
       and table_name <> 'encryption_key_checks'`)
  expect(columns.toSorted()).toEqual(
    SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}_sealed`).sort(),
  )
})

async function allSealed() {
  const found = await Promise.all(
    SEALED_COLUMNS.map(async ({ table, keys, column, bindingOf }) => {
      const text = `select ${keys.join(', ')}, ${column}_sealed as sealed from ${table} where ${column}_sealed is not null`
      const rows = await shop.database.owner.many<{ sealed: Buffer }>(statement(text, []))
      return rows.map((row) => ({ sealed: row.sealed, binding: bindingOf({ ...row }) }))
    }),
  )
  return found.flat()
}
