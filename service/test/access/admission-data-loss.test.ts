import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Admission, Attempt } from '../../src/access/admission.ts'
import { slotOf, tagsBySlot } from '../../src/access/redis-slots.ts'
import { createAccount } from '../../src/accounts/account.ts'
import { type AdmissionState, admissionState } from '../../testing/admission-state.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { createAdmission } from '../../testing/shop.ts'

/**
 * What the admission store does after it lost its data. Real losses (kill, flush, failover) are in tests/engines; here their traces are
 * written by hand, so that every second can be tested without waiting for it.
 */
const nowS = () => Math.floor(Date.now() / 1000)

interface Rig {
  admission: Admission
  database: TestDatabase
  account_id: string
  state: AdmissionState
  /** Moves the loss of data to this many seconds ago; negative: into the future. */
  loseMemory(secondsAgo: number): Promise<void>
  purgeTo(second: number): Promise<void>
}

describe.each(['postgres', 'redis'] as const)('the admission store in %s', (kind) => {
  let rig: Rig
  let close: () => Promise<void>
  beforeAll(async () => {
    const database = await openTestDatabase()
    const admission = createAdmission(kind, database.api)
    await admission.open()
    const { id: account_id } = await database.operator.transaction((tx) =>
      createAccount(tx, 'Caller', Date.now()),
    )
    const redis = new Redis(inject('redisUrl'))
    const slotStateKey = `shopwire:memory:{${tagsBySlot()[slotOf(account_id)]}}`
    const setMark = (field: 'lost_at' | 'purged_to', second: number) =>
      kind === 'postgres'
        ? asSuperuser(
            (client) => client.query(`update admission_memory set ${field} = $1`, [second]),
            database.superuserUrl,
          )
        : redis.hset(slotStateKey, field, second)
    rig = {
      admission,
      database,
      account_id,
      state: admissionState(kind, database),
      loseMemory: async (secondsAgo) => void (await setMark('lost_at', nowS() - secondsAgo)),
      purgeTo: async (second) => void (await setMark('purged_to', second)),
    }
    close = async () => {
      redis.disconnect()
      rig.state.close()
      await admission.close()
      await database.close()
    }
  })
  afterAll(() => close())

  const attempt = (signed_at: number): Attempt => ({
    account_id: rig.account_id,
    key_id: 'key_c1_0000000000000000000000000a',
    nonce: randomBytes(16).toString('hex'),
    signed_at,
    isOrder: false,
    access_version: 1,
    epoch: undefined,
  })

  test('admits no request for a second or two after a loss', async () => {
    await rig.loseMemory(-1)
    expect((await rig.admission.admit(attempt(nowS()))).kind).toBe('warming')
    expect((await rig.admission.admit(attempt(nowS() + 30))).kind).toBe('warming')
  })

  test('refuses requests signed at or before the loss, and admits those signed after it', async () => {
    await rig.loseMemory(10)
    const lostAt = nowS() - 10
    expect((await rig.admission.admit(attempt(lostAt - 20))).kind).toBe('forgotten')
    expect((await rig.admission.admit(attempt(lostAt))).kind).toBe('forgotten')
    expect((await rig.admission.admit(attempt(lostAt + 3))).kind).toBe('admitted')
  })

  test('spends nonces in the database too within two minutes of a loss', async () => {
    await rig.loseMemory(100)
    const late = attempt(nowS())
    expect((await rig.admission.admit(late)).kind).toBe('admitted')
    const { rows } = await asSuperuser(
      (client) => client.query('select from witnessed_nonces where nonce = $1', [late.nonce]),
      rig.database.superuserUrl,
    )
    expect(rows).toHaveLength(1)
  })

  test('no longer writes nonces to the database when the loss is long ago', async () => {
    await rig.loseMemory(130)
    const late = attempt(nowS())
    expect((await rig.admission.admit(late)).kind).toBe('admitted')
    const { rows } = await asSuperuser(
      (client) => client.query('select from witnessed_nonces where nonce = $1', [late.nonce]),
      rig.database.superuserUrl,
    )
    expect(rows).toHaveLength(0)
  })

  test('makes a key of another epoch be read again, because its revocation may be lost', async () => {
    await rig.loseMemory(200)
    const first = await rig.admission.admit(attempt(nowS()))
    const epoch = first.kind === 'admitted' ? first.epoch : undefined
    expect(epoch).toBeDefined()
    await rig.loseMemory(150)
    const verdict = await rig.admission.admit({ ...attempt(nowS()), epoch })
    // PostgreSQL compares access versions with the account's row and has no second copy that could be lost.
    expect(verdict.kind).toBe(kind === 'postgres' ? 'admitted' : 'changed')
  })

  test.each([
    ['signed ahead of the clock', 30, 1_000],
    ['sent within two minutes of an earlier loss', 0, 60],
  ])('keeps refusing, after a loss, requests that were refused and %s', async (_, aheadS, lossAgoS) => {
    await rig.state.loseAll(rig.account_id)
    await rig.database.asOwner('truncate witnessed_nonces, witnessed_refusals')
    await rig.loseMemory(lossAgoS)
    const signed_at = nowS() + aheadS
    const sent = Array.from({ length: 120 + 120 + 40 }, () => attempt(signed_at))
    for (const each of sent) await rig.admission.admit(each)
    const refused = sent.slice(120)
    await rig.state.loseAll(rig.account_id)
    // The latest loss that does not cover them already.
    await rig.loseMemory(nowS() - Math.min(signed_at, nowS()) + 1)
    const after: string[] = []
    for (const each of refused) after.push((await rig.admission.admit(each)).kind)
    expect(after).toEqual([...Array(120).fill('replayed'), ...Array(40).fill('limited')])
  })

  test('threat 18: after a clock step back, purged nonces are still refused', async () => {
    await rig.loseMemory(1_000)
    const purgedTo = nowS() + 30
    await rig.purgeTo(purgedTo)
    expect((await rig.admission.admit(attempt(purgedTo))).kind).toBe('forgotten')
    expect((await rig.admission.admit(attempt(purgedTo + 1))).kind).toBe('admitted')
    await rig.purgeTo(0)
  })
})

describe('PostgreSQL detects a loss of data', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(() => database.close())

  const check = () =>
    asSuperuser(
      async (client) =>
        (await client.query('select * from admission_memory_check()')).rows[0] as Record<string, unknown>,
      database.superuserUrl,
    )

  test('a new database reports no loss', async () => {
    expect(await check()).toMatchObject({ lost_at: '0', was_lost: false })
  })

  test('emptied tables, as after a crash or on a promoted standby, start a new epoch', async () => {
    await asSuperuser((client) => client.query('truncate admission_memory'), database.superuserUrl)
    const found = await check()
    expect(found).toMatchObject({ was_lost: true })
    expect(Number(found.lost_at)).toBeGreaterThanOrEqual(nowS())
    expect(await check()).toMatchObject({ was_lost: false, lost_at: found.lost_at })
  })

  test('state of an earlier start of the server starts a new epoch', async () => {
    await asSuperuser(
      (client) =>
        client.query(`update admission_memory set server_started_at = now() - interval '1 day', lost_at = 0`),
      database.superuserUrl,
    )
    expect(await check()).toMatchObject({ was_lost: true })
  })

  test('purging raises purged_to first and deletes only nonces below it', async () => {
    const old = nowS() - 700
    const counts = await asSuperuser(async (client) => {
      await client.query(
        `insert into spent_nonces values ('a', 'k', 'old', $1), ('a', 'k', 'new', $1::bigint + 200)`,
        [old],
      )
      const { rows: purged } = await client.query('select purge_nonces($1) as n', [old + 100])
      const { rows: left } = await client.query(`select nonce from spent_nonces where account_id = 'a'`)
      const { rows: state } = await client.query('select purged_to from admission_memory')
      return { purged: purged[0].n, left: left.map((row) => row.nonce), floor: state[0].purged_to }
    }, database.superuserUrl)
    expect(counts).toEqual({ purged: '1', left: ['new'], floor: String(old + 100) })
  })
})
