import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Admission, Attempt, Verdict } from '../../src/access/admission.ts'
import { createAccount } from '../../src/accounts/account.ts'
import { sql } from '../../src/platform/db.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { type AdmissionKind, admissionKinds, createAdmission } from '../../testing/shop.ts'

/** One suite for every place admission can live: whatever holds for one must hold for all. */
describe.each(admissionKinds)('admission in %s', (kind: AdmissionKind) => {
  let database: TestDatabase
  let admission: Admission
  let other: Admission
  beforeAll(async () => {
    database = await openTestDatabase()
    admission = createAdmission(kind, database.db)
    // A second client stands for a second process: nothing may be decided in a process's own memory.
    other = createAdmission(kind, database.db)
    await admission.open()
    await other.open()
  })
  afterAll(async () => {
    await admission.close()
    await other.close()
    await database.close()
  })

  const newAccount = () => database.db.transaction((tx) => createAccount(tx, 'Caller', Date.now()))
  const nowS = () => Math.floor(Date.now() / 1000)
  async function newAttempt(wanted: Partial<Attempt> = {}): Promise<Attempt> {
    return {
      account_id: wanted.account_id ?? (await newAccount()).id,
      key_id: 'key_c1_0000000000000000000000000a',
      nonce: randomBytes(16).toString('hex'),
      signed_at: nowS(),
      isOrder: false,
      standing: 1,
      memory: undefined,
      ...wanted,
    }
  }
  const admitMany = (attempts: Attempt[]) =>
    Promise.all(attempts.map((attempt, n) => (n % 2 === 0 ? admission : other).admit(attempt)))
  const count = (verdicts: Verdict[], kind: Verdict['kind']) => verdicts.filter((v) => v.kind === kind).length

  test('a nonce admits once, on whichever process it arrives first', async () => {
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

  test('120 requests of an account fit into a minute, over all processes, and the 121st waits', async () => {
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

  test('a limited request has spent its nonce all the same', async () => {
    const { account_id } = await newAttempt()
    await admitMany(await Promise.all(Array.from({ length: 120 }, () => newAttempt({ account_id }))))
    const late = await newAttempt({ account_id })
    expect((await admission.admit(late)).kind).toBe('limited')
    expect((await admission.admit(late)).kind).toBe('replayed')
  })

  test('20 order attempts fit into a minute and count as requests too; reads go on', async () => {
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

  test('one account at its limit does not touch another', async () => {
    const { account_id } = await newAttempt()
    await admitMany(await Promise.all(Array.from({ length: 121 }, () => newAttempt({ account_id }))))
    expect((await admission.admit(await newAttempt())).kind).toBe('admitted')
  })

  test('a changed standing is noticed on the very next request, on every process', async () => {
    const attempt = await newAttempt()
    const first = await admission.admit(attempt)
    expect(first.kind).toBe('admitted')
    const memory = first.kind === 'admitted' ? first.memory : undefined
    await database.db.run(sql`update accounts set standing = 2 where id = ${attempt.account_id}`)
    await other.announce(attempt.account_id, 2)
    const again = { account_id: attempt.account_id, memory }
    expect((await admission.admit(await newAttempt(again))).kind).toBe('changed')
    expect((await other.admit(await newAttempt(again))).kind).toBe('changed')
    expect((await admission.admit(await newAttempt({ ...again, standing: 2 }))).kind).toBe('admitted')
  })

  test('a changed standing spends nothing', async () => {
    const attempt = await newAttempt()
    await database.db.run(sql`update accounts set standing = 2 where id = ${attempt.account_id}`)
    await admission.announce(attempt.account_id, 2)
    expect((await admission.admit(attempt)).kind).toBe('changed')
    expect(await admission.admit({ ...attempt, standing: 2 })).toMatchObject({
      kind: 'admitted',
      usage: { requests: { used: 1 } },
    })
  })

  test('a nonce signed ahead of the clock is written where no crash can forget it', async () => {
    const ahead = await newAttempt({ signed_at: nowS() + 30 })
    expect((await admission.admit(ahead)).kind).toBe('admitted')
    const rows = await database.db.many(sql`select 1 from witnessed_nonces where nonce = ${ahead.nonce}`)
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
