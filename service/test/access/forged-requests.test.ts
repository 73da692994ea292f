import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AccessDeps, admitCaller } from '../../src/access/admit-caller.ts'
import { readCredentials } from '../../src/access/credentials.ts'
import { createKnownKeys, KEY_READS } from '../../src/access/known-keys.ts'
import type { Db, Statement } from '../../src/platform/database/db.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { openShop, type Shop, signedHeaders, type TestKey } from '../../testing/shop.ts'

/** Forged requests get 401 and cost the database a bounded number of reads, however many there are. */
const FLOOD_MS = process.env.SHOPWIRE_LONG ? 10_000 : 2_000
const SENDERS = 400

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

/** The real database, counting the statements that look up keys. */
function countingAccess() {
  const reads = { statements: 0, ids: 0, idsMost: 0, underWay: 0, underWayMost: 0 }
  const db = {
    ...shop.database.api,
    async many(statement: Statement) {
      const ids = (statement.values[0] as string[]).length
      reads.statements += 1
      reads.ids += ids
      reads.idsMost = Math.max(reads.idsMost, ids)
      reads.underWay += 1
      reads.underWayMost = Math.max(reads.underWayMost, reads.underWay)
      try {
        return await shop.database.api.many(statement)
      } finally {
        reads.underWay -= 1
      }
    },
  } as Db
  const access: AccessDeps = {
    keys: createKnownKeys(db, shop.keyring),
    admission: shop.admission,
    metrics: shop.metrics,
  }
  return { access, reads }
}

const request = { method: 'GET', target: '/v1/ping', body: new Uint8Array(), isOrder: false }

async function send(access: AccessDeps, key: TestKey): Promise<string> {
  const headers = Object.entries(signedHeaders(key, 'GET', '/v1/ping')).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ])
  const credentials = readCredentials(Object.fromEntries(headers), Date.now())
  try {
    await admitCaller(access, credentials, request)
    return 'admitted'
  } catch (error) {
    return error instanceof Refusal ? error.type : String(error)
  }
}

const randomId = () => `key_c1_${randomBytes(13).toString('hex')}`

test.each([
  ['random key ids', () => randomId],
  ['one known key id', (known: TestKey) => () => known.id],
])(
  'a flood with %s stays within the limit of reads, all of it gets 401, and a valid caller is admitted',
  async (_, idsOf) => {
    const { access, reads } = countingAccess()
    const known = await shop.makeKey()
    expect(await send(access, known)).toBe('admitted')
    const nextId = idsOf(known)
    const before = { ...reads }
    const startedMs = performance.now()
    const outcomes = new Map<string, number>()
    const senders = Array.from({ length: SENDERS }, async () => {
      while (performance.now() < startedMs + FLOOD_MS) {
        const outcome = await send(access, { id: nextId(), secret: 'sk_nobody' })
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        await sleep(0)
      }
    })
    await sleep(FLOOD_MS / 2)
    // This process has cached neither key; the second did not exist when the flood began.
    const other = await shop.operator.createAccount('Other')
    const valid = await Promise.all([
      shop.makeKey().then((key) => send(access, key)),
      shop.makeKey(undefined, other.id).then((key) => send(access, key)),
    ])
    await Promise.all(senders)
    const seconds = (performance.now() - startedMs) / 1000
    const statements = reads.statements - before.statements
    const sent = outcomes.get('authentication_failed') ?? 0
    process.stdout.write(
      `forged ${Math.round(sent / seconds)}/s, statements ${Math.round(statements / seconds)}/s, ids ${Math.round((reads.ids - before.ids) / seconds)}/s\n`,
    )
    expect(valid).toEqual(['admitted', 'admitted'])
    expect([...outcomes.keys()]).toEqual(['authentication_failed'])
    expect(statements).toBeLessThanOrEqual((seconds * 1000) / KEY_READS.everyMs + 1)
    expect(sent).toBeGreaterThan(statements)
    expect(reads.underWayMost).toBe(1)
    expect(reads.idsMost).toBeLessThanOrEqual(KEY_READS.idsMax)
  },
)

test('a key works at once although its id was looked up just before it was created', async () => {
  const { access } = countingAccess()
  for (let n = 0; n < 20; n += 1) {
    const guessing = send(access, { id: randomId(), secret: 'sk_nobody' })
    const key = await shop.makeKey()
    const [guess, own] = await Promise.all([guessing, send(access, key)])
    expect([guess, own]).toEqual(['authentication_failed', 'admitted'])
  }
})
