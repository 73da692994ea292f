import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Admission, Attempt, Verdict } from '../../src/access/admission.ts'
import { createAccount } from '../../src/accounts/account.ts'
import type { BatchingMode } from '../../src/platform/batching/batched.ts'
import { sql } from '../../src/platform/database/db.ts'
import { type AdmissionState, admissionState } from '../../testing/admission-state.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { type AdmissionKind, createAdmission } from '../../testing/shop.ts'

/** With Redis a nonce recorded in the database is checked twice, and concurrent ones are recorded too. */
const IN_FLIGHT_MAX = 50

const settings: [AdmissionKind, BatchingMode][] = [
  ['postgres', 'adaptive'],
  ['postgres', 'always'],
  ['redis', 'adaptive'],
  ['redis', 'always'],
  ['redis-cluster', 'off'],
]

/** One suite for every kind of admission store, batched or not: all have to behave the same. */
describe.each(settings)('admission in %s, batches %s', (kind, batching) => {
  let database: TestDatabase
  let admission: Admission
  let other: Admission
  let state: AdmissionState
  beforeAll(async () => {
    database = await openTestDatabase()
    state = admissionState(kind, database)
    admission = createAdmission(kind, database.api, {}, batching)
    // A second client acts as a second process: no decision may depend on state of one process.
    other = createAdmission(kind, database.api, {}, batching)
    await admission.open()
    await other.open()
  })
  afterAll(async () => {
    await admission.close()
    await other.close()
    state.close()
    await database.close()
  })

  const newAccount = () => database.operator.transaction((tx) => createAccount(tx, 'Caller', Date.now()))
  const nowS = () => Math.floor(Date.now() / 1000)
  async function newAttempt(wanted: Partial<Attempt> = {}): Promise<Attempt> {
    return {
      account_id: wanted.account_id ?? (await newAccount()).id,
      key_id: 'key_c1_0000000000000000000000000a',
      nonce: randomBytes(16).toString('hex'),
      signed_at: nowS(),
      isOrder: false,
      access_version: 1,
      epoch: undefined,
      ...wanted,
    }
  }
  const admitMany = (attempts: Attempt[]) =>
    Promise.all(attempts.map((attempt, n) => (n % 2 === 0 ? admission : other).admit(attempt)))
  const count = (verdicts: Verdict[], kind: Verdict['kind']) => verdicts.filter((v) => v.kind === kind).length

  test('a nonce admits one request, on whichever process it arrives first', async () => {
    const attempt = await newAttempt()
    const verdicts = await admitMany(Array.from({ length: 50 }, () => attempt))
    expect(count(verdicts, 'admitted')).toBe(1)
    expect(count(verdicts, 'replayed')).toBe(49)
  })

  test('a nonce stays used under another timestamp', async () => {
    const attempt = await newAttempt()
    expect((await admission.admit(attempt)).kind).toBe('admitted')
    expect((await other.admit({ ...attempt, signed_at: attempt.signed_at + 1 })).kind).toBe('replayed')
  })

  test('two keys may use the same nonce', async () => {
    const attempt = await newAttempt()
    expect((await admission.admit(attempt)).kind).toBe('admitted')
    expect((await admission.admit({ ...attempt, key_id: 'key_c1_0000000000000000000000000b' })).kind).toBe(
      'admitted',
    )
  })

  test('an account gets 120 requests a minute over all processes, and the 121st is limited', async () => {
    const { account_id } = await newAttempt()
    const attempts = await Promise.all(Array.from({ length: 150 }, () => newAttempt({ account_id })))
    const verdicts = await admitMany(attempts)
    expect(count(verdicts, 'admitted')).toBe(120)
    const limited = verdicts.flatMap((v) =>
      v.kind === 'limited' ? [v as Extract<Verdict, { usage: unknown }>] : [],
    )
    expect(limited).toHaveLength(30)
    for (const { usage } of limited) {
      expect(usage.requests).toMatchObject({ max: 120, used: 120 })
      expect(usage.waitMs).toBeGreaterThan(40_000)
      expect(usage.waitMs).toBeLessThanOrEqual(60_001)
    }
  })

  test('a limited request has spent its nonce', async () => {
    const { account_id } = await newAttempt()
    await admitMany(await Promise.all(Array.from({ length: 120 }, () => newAttempt({ account_id }))))
    const late = await newAttempt({ account_id })
    expect((await admission.admit(late)).kind).toBe('limited')
    expect((await admission.admit(late)).kind).toBe('replayed')
  })

  /** Sends requests of one account until its window is full, and then this many that are refused. */
  async function refusedAttempts(many: number, wanted: Partial<Attempt> = {}) {
    const { account_id } = await newAttempt()
    const max = wanted.isOrder ? 20 : 120
    await admitMany(
      await Promise.all(Array.from({ length: max }, () => newAttempt({ ...wanted, account_id }))),
    )
    const attempts: Attempt[] = []
    for (let sent = 0; sent < many; sent += 50) {
      const some = await Promise.all(Array.from({ length: 50 }, () => newAttempt({ ...wanted, account_id })))
      const verdicts = await admitMany(some)
      expect(count(verdicts, 'limited')).toBe(50)
      attempts.push(...some)
    }
    return { account_id, attempts }
  }

  test('of 1,000 refused requests no more nonces are recorded than the request limit', {
    timeout: 120_000,
  }, async () => {
    const { account_id } = await refusedAttempts(1_000)
    expect(await state.nonces(account_id)).toBeLessThanOrEqual(120 + 120 + IN_FLIGHT_MAX)
  })

  test('a refused request is never admitted later, whether its nonce was recorded or not', async () => {
    const { account_id, attempts } = await refusedAttempts(200)
    await state.emptyWindows(account_id)
    const again = await admitMany(attempts)
    const replayed = count(again, 'replayed')
    expect(replayed).toBeGreaterThanOrEqual(120)
    expect(replayed).toBeLessThanOrEqual(120 + IN_FLIGHT_MAX)
    expect(count(again, 'limited')).toBe(200 - replayed)
  })

  test('after many refusals, a request signed again after the reported wait is admitted', async () => {
    const { account_id, attempts } = await refusedAttempts(200)
    await state.emptyWindows(account_id)
    const last = attempts.at(-1) as Attempt
    const refused = (await admission.admit(last)) as Extract<Verdict, { usage: unknown }>
    expect(refused.kind).toBe('limited')
    const waitS = Math.ceil(refused.usage.waitMs / 1000)
    expect(waitS).toBeGreaterThanOrEqual(1)
    const fresh = await newAttempt({ account_id, signed_at: last.signed_at + waitS })
    expect((await admission.admit(fresh)).kind).toBe('admitted')
  })

  test('many refused orders block orders signed until then, and no other requests', async () => {
    const { account_id, attempts } = await refusedAttempts(200, { isOrder: true })
    await state.emptyWindows(account_id)
    const { signed_at } = attempts.at(-1) as Attempt
    const kindOf = async (wanted: Partial<Attempt>) =>
      (await admission.admit(await newAttempt({ account_id, ...wanted }))).kind
    expect(await kindOf({ isOrder: true, signed_at })).toBe('limited')
    expect(await kindOf({ isOrder: false, signed_at })).toBe('admitted')
    expect(await kindOf({ isOrder: true, signed_at: signed_at + 1 })).toBe('admitted')
  })

  test('refused requests that were signed ahead add no more durable rows than the limit', async () => {
    const { account_id } = await refusedAttempts(400, { signed_at: nowS() + 40 })
    const rows = await database.owner.many(sql`
      select nonce from witnessed_nonces where account_id = ${account_id}`)
    expect(rows.length).toBeLessThanOrEqual(120 + 120 + IN_FLIGHT_MAX)
    const refusals = await database.owner.many(sql`
      select refused_to from witnessed_refusals where account_id = ${account_id}`)
    expect(refusals).toHaveLength(1)
  })

  test('an account gets 20 order attempts a minute, which count as requests too; reads are still admitted', async () => {
    const { account_id } = await newAttempt()
    const orders = await Promise.all(
      Array.from({ length: 25 }, () => newAttempt({ account_id, isOrder: true })),
    )
    const verdicts = await admitMany(orders)
    expect(count(verdicts, 'admitted')).toBe(20)
    expect(count(verdicts, 'limited')).toBe(5)
    const read = await admission.admit(await newAttempt({ account_id }))
    expect(read).toMatchObject({
      kind: 'admitted',
      usage: { requests: { used: 21 }, orders: { used: 20, max: 20 } },
    })
  })

  test('an account at its limit does not affect another account', async () => {
    const { account_id } = await newAttempt()
    await admitMany(await Promise.all(Array.from({ length: 121 }, () => newAttempt({ account_id }))))
    expect((await admission.admit(await newAttempt())).kind).toBe('admitted')
  })

  test('a changed access version is noticed by the next request on every process', async () => {
    const attempt = await newAttempt()
    const first = await admission.admit(attempt)
    expect(first.kind).toBe('admitted')
    const epoch = first.kind === 'admitted' ? first.epoch : undefined
    await database.owner.run(sql`update accounts set access_version = 2 where id = ${attempt.account_id}`)
    await other.announce(attempt.account_id, 2)
    const again = { account_id: attempt.account_id, epoch }
    expect((await admission.admit(await newAttempt(again))).kind).toBe('changed')
    expect((await other.admit(await newAttempt(again))).kind).toBe('changed')
    expect((await admission.admit(await newAttempt({ ...again, access_version: 2 }))).kind).toBe('admitted')
  })

  test('a request with an outdated access version spends no nonce and is not counted', async () => {
    const attempt = await newAttempt()
    await database.owner.run(sql`update accounts set access_version = 2 where id = ${attempt.account_id}`)
    await admission.announce(attempt.account_id, 2)
    expect((await admission.admit(attempt)).kind).toBe('changed')
    expect(await admission.admit({ ...attempt, access_version: 2 })).toMatchObject({
      kind: 'admitted',
      usage: { requests: { used: 1 } },
    })
  })

  test('a nonce signed ahead of the clock is recorded durably', async () => {
    const ahead = await newAttempt({ signed_at: nowS() + 30 })
    expect((await admission.admit(ahead)).kind).toBe('admitted')
    const rows = await database.owner.many(sql`select 1 from witnessed_nonces where nonce = ${ahead.nonce}`)
    expect(rows).toHaveLength(1)
    expect((await other.admit(ahead)).kind).toBe('replayed')
  })

  test('usage counts down and says when the oldest request leaves the window', async () => {
    const { account_id } = await newAttempt()
    const first = await admission.admit(await newAttempt({ account_id }))
    const second = await admission.admit(await newAttempt({ account_id, isOrder: true }))
    expect(first).toMatchObject({ usage: { requests: { used: 1 }, orders: { used: 0, oldestLeavesMs: 0 } } })
    expect(second).toMatchObject({ usage: { requests: { used: 2 }, orders: { used: 1 } } })
    const leaves = second.kind === 'admitted' ? second.usage.requests.oldestLeavesMs : 0
    expect(leaves).toBeGreaterThan(50_000)
    expect(leaves).toBeLessThanOrEqual(60_001)
  })
})
