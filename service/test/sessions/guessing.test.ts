import { createSecretKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/platform/database/db.ts'
import { createAttempts, signInNames } from '../../src/sessions/attempts.ts'
import { HashingBusy } from '../../src/sessions/passwords.ts'
import { createAuthenticator } from '../../testing/authenticator.ts'
import { enrolTotp, ORIGIN, openIdentity, PASSWORD, type TestIdentity } from '../../testing/identity.ts'

// Threat 66: brute force, and telling known addresses from unknown ones.

let identity: TestIdentity
let account_id: string
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
})
afterAll(() => identity.close())

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: { name: string; type: string; message: string }) => error,
  )

test('1,000 wrong passwords from many places change nothing for sessions and passkeys of the owner', async () => {
  const { browser: owner, email } = await identity.newMember(account_id, 'owner')
  const authenticator = createAuthenticator()
  const options = await owner.call('beginPasskey', { password: PASSWORD })
  await owner.call('addPasskey', { name: 'Key', response: authenticator.create(options as never, ORIGIN) })
  const kinds = new Map<string, number>()
  for (let n = 0; n < 1_000; n += 1) {
    const attacker = identity.browser(`198.51.100.${n % 200}`)
    const refusal = await refusalOf(attacker.call('signInWithPassword', { email, password: `guess ${n}` }))
    kinds.set(refusal?.type ?? 'none', (kinds.get(refusal?.type ?? 'none') ?? 0) + 1)
  }
  // After fifty, guesses are not even compared any more.
  expect(kinds.get('sign_in_failed')).toBe(50)
  expect(kinds.get('too_many_attempts')).toBe(950)
  expect((await owner.call('getSession')).person?.email).toBe(email)
  expect((await owner.call('getSecurity')).sessions).toHaveLength(1)
  const other = identity.browser()
  const response = authenticator.get((await other.call('beginPasskeySignIn')) as never, ORIGIN)
  expect(await other.call('signInWithPasskey', { response })).toEqual({ next: 'done' })
  // Somebody else from elsewhere is not held up.
  const { email: second } = await identity.newMember(account_id, 'viewer')
  const third = identity.browser('192.0.2.1')
  expect(await third.call('signInWithPassword', { email: second, password: PASSWORD })).toEqual({
    next: 'enrol',
  })
  identity.passMs(16 * 60_000)
  const later = identity.browser('192.0.2.2')
  expect(await later.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'passkey' })
}, 120_000)

const countOf = (types: readonly (string | undefined)[], type: string) =>
  types.filter((one) => one === type).length

test('threat 72: of 200 wrong passwords from one address at once ten are compared, and the owner signs in from another', async () => {
  const { email } = await identity.newMember(account_id, 'viewer')
  const types = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      refusalOf(
        identity.browser('198.51.100.9').call('signInWithPassword', { email, password: `guess ${n}` }),
      ).then((refusal) => refusal?.type),
    ),
  )
  expect([countOf(types, 'sign_in_failed'), countOf(types, 'too_many_attempts')]).toEqual([10, 190])
  const elsewhere = identity.browser('192.0.2.3')
  expect(await elsewhere.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'enrol' })
})

test('threat 72: of 200 wrong codes from one address at once ten are checked, and from 100 addresses at most fifty', async () => {
  const { browser, email } = await identity.newMember(account_id, 'owner')
  await enrolTotp(browser)
  const guess = async (address: string, n: number) => {
    const thief = identity.browser(address)
    await thief.call('signInWithPassword', { email, password: PASSWORD })
    return () =>
      refusalOf(thief.call('signInWithRecoveryCode', { code: `wrong-code${n}` })).then(
        (refusal) => refusal?.type,
      )
  }
  const fromOne = []
  for (let n = 0; n < 20; n += 1) fromOne.push(await guess('198.51.100.10', n))
  const types = await Promise.all(fromOne.flatMap((send) => Array.from({ length: 10 }, send)))
  expect([countOf(types, 'sign_in_failed'), countOf(types, 'too_many_attempts')]).toEqual([10, 190])
  const fromMany = []
  for (let n = 0; n < 100; n += 1) fromMany.push(await guess(`203.0.113.${n}`, n))
  const others = await Promise.all(fromMany.flatMap((send) => [send(), send()]))
  expect(countOf(others, 'sign_in_failed')).toBe(40)
  expect(countOf(others, 'too_many_attempts')).toBe(160)
})

test('an attempt that was refused before its password was compared is not counted', async () => {
  const attempts = createAttempts(identity.database.dashboard, createSecretKey(randomBytes(32)))
  const names = signInNames('busy@example.com', '198.51.100.11')
  const busy = () => Promise.reject(new HashingBusy())
  for (let n = 0; n < 15; n += 1) {
    await attempts.count(names, identity.nowMs())
    await expect(attempts.compared(names, busy)).rejects.toThrow(HashingBusy)
  }
  for (let n = 0; n < 10; n += 1) {
    await attempts.count(names, identity.nowMs())
    await attempts.compared(names, async () => undefined)
  }
  expect((await refusalOf(attempts.count(names, identity.nowMs())))?.type).toBe('too_many_attempts')
})

test('wrong codes stop after ten', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const types = []
  for (let n = 0; n < 12; n += 1)
    types.push((await refusalOf(browser.call('beginPasskey', { password: `wrong ${n}` })))?.type)
  expect(types.slice(0, 10).every((type) => type === 'sign_in_failed')).toBe(true)
  expect(types.slice(10)).toEqual(['too_many_attempts', 'too_many_attempts'])
})

test('wrong codes of somebody who has the password do not hold up a passkey, neither at the sign-in nor later', async () => {
  const { browser, email } = await identity.newMember(account_id, 'owner')
  await enrolTotp(browser)
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', {})
  await browser.call('addPasskey', { name: 'Key', response: authenticator.create(options as never, ORIGIN) })
  const thief = identity.browser('198.51.100.77')
  const types: (string | undefined)[] = []
  for (let n = 0; n < 12; n += 1) {
    await thief.call('signInWithPassword', { email, password: PASSWORD })
    types.push((await refusalOf(thief.call('signInWithRecoveryCode', { code: `wrong-code${n}` })))?.type)
  }
  expect(types.at(-1)).toBe('too_many_attempts')
  const asked = await browser.call('beginPasskeyStepUp')
  await browser.call('stepUpWithPasskey', { response: authenticator.get(asked as never, ORIGIN) })
  const again = identity.browser()
  const response = authenticator.get((await again.call('beginPasskeySignIn')) as never, ORIGIN)
  expect(await again.call('signInWithPasskey', { response })).toEqual({ next: 'done' })
})

test('known, unknown and operators’ addresses get the same answer', async () => {
  const { email } = await identity.newMember(account_id, 'viewer')
  await identity.database.asOwner(
    `insert into people (id, kind, name, email, created_at, updated_at) values ('person_op', 'operator', 'Op', 'op@example.com', now(), now())`,
  )
  const answers = await Promise.all(
    [email, 'nobody@example.com', 'op@example.com'].map(async (each, n) => {
      const refusal = await refusalOf(
        identity.browser(`192.0.2.${10 + n}`).call('signInWithPassword', { email: each, password: 'wrong' }),
      )
      return { type: refusal?.type, message: refusal?.message }
    }),
  )
  expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1)
  for (const each of [email, 'nobody@example.com', 'op@example.com'])
    expect(await identity.browser('192.0.2.20').call('forgotPassword', { email: each })).toEqual({ ok: true })
  await identity.sessions.settled()
  const mails = await identity.database.owner.many<{ to_address: string }>(
    statement(`select to_address from outgoing_mail where subject like 'Choose%'`, []),
  )
  expect(mails).toEqual([{ to_address: email }])
})

test('known and unknown addresses take about as long, with the real cost of a password', async () => {
  const real = await openIdentity({ isRealCost: true })
  try {
    const account = await real.newAccount()
    const { email } = await real.newMember(account, 'viewer')
    const { password_hash } = await real.database.owner.one<{ password_hash: string }>(
      statement('select password_hash from credentials', []),
    )
    expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
    for (let n = 0; n < 9; n += 1) {
      for (const kind of ['known', 'unknown'] as const) {
        const browser = real.browser(`192.0.2.${n * 2 + (kind === 'known' ? 0 : 1)}`)
        const startedMs = performance.now()
        const asked = kind === 'known' ? email : `nobody${n}@example.com`
        await refusalOf(browser.call('signInWithPassword', { email: asked, password: 'wrong' }))
        times[kind].push(performance.now() - startedMs)
      }
    }
    const median = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] as number
    const ratio = median(times.known) / median(times.unknown)
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  } finally {
    await real.close()
  }
}, 60_000)

test('a password hashed at another cost is hashed anew at the next sign-in', async () => {
  const { email } = await identity.newMember(account_id, 'viewer')
  const hashOf = async () =>
    (
      await identity.database.owner.one<{ password_hash: string }>(
        statement(
          'select c.password_hash from credentials c join people p on p.id = c.person_id where p.email = $1',
          [email],
        ),
      )
    ).password_hash
  const { createPasswords } = await import('../../src/sessions/passwords.ts')
  const old = await createPasswords({ memoryKib: 128, passes: 1 }).hash(PASSWORD)
  await identity.database.asOwner(
    `update credentials set password_hash = '${old}' where person_id = (select id from people where email = '${email}')`,
  )
  await identity.browser('192.0.2.77').call('signInWithPassword', { email, password: PASSWORD })
  expect(await hashOf()).toMatch(/m=256,t=1,p=1/)
})
