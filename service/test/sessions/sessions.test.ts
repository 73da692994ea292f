import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/platform/database/db.ts'
import { createAuthenticator } from '../../testing/authenticator.ts'
import {
  enrolTotp,
  ORIGIN,
  openIdentity,
  PASSWORD,
  type TestBrowser,
  type TestIdentity,
  totpCode,
} from '../../testing/identity.ts'

// Threat 66: fixation, reuse of codes, brute force; and what is stored of what a browser or a mailbox holds.

let identity: TestIdentity
let account_id: string
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
})
afterAll(() => identity.close())

const SESSION = '__Host-shopwire-session'
const MINUTE_MS = 60_000
const refused = (type: string) => expect.objectContaining({ name: 'Refusal', type })
const isIn = async (browser: TestBrowser) => (await browser.call('getSession')).person !== null
const isStepped = async (browser: TestBrowser) => (await browser.call('getSession')).stepped_up_until !== null
const copyOf = (browser: TestBrowser) => {
  const copy = identity.browser()
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
  return copy
}

test('a planted session id is worth nothing: signing in makes a new one, and ends the one that was there', async () => {
  const { email } = await identity.newMember(account_id, 'viewer')
  const victim = identity.browser()
  const planted = randomBytes(32).toString('base64url')
  victim.cookies.set(SESSION, planted)
  await victim.call('signInWithPassword', { email, password: PASSWORD })
  expect(victim.cookies.get(SESSION)).not.toBe(planted)
  const attacker = identity.browser()
  attacker.cookies.set(SESSION, planted)
  expect(await isIn(attacker)).toBe(false)

  // The attacker's own live session, planted: gone after the victim signs in on top of it.
  const { browser: own } = await identity.newMember(account_id, 'viewer')
  const second = copyOf(own)
  await second.call('signInWithPassword', { email, password: PASSWORD })
  expect(await isIn(own)).toBe(false)
})

test('stepping up gives the session a new id; the old one is out', async () => {
  const { browser } = await identity.newMember(account_id, 'developer')
  const { secret } = await enrolTotp(browser)
  const stolen = copyOf(browser)
  await browser.call('stepUpWithTotp', { code: totpCode(secret) })
  expect(await isStepped(browser)).toBe(true)
  expect(await isIn(stolen)).toBe(false)
})

test('the CSRF token belongs to one session', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { browser: other } = await identity.newMember(account_id, 'viewer')
  const { csrf_token } = await browser.call('getSession')
  const own = await identity.sessions.identify(browser.cookieHeader(), identity.nowMs())
  const others = await identity.sessions.identify(other.cookieHeader(), identity.nowMs())
  expect(own.csrf_token).toBe(csrf_token)
  expect(others.csrf_token).not.toBe(csrf_token)
  expect((await identity.sessions.identify(undefined, identity.nowMs())).csrf_token).toBeUndefined()
})

test('a code works once: not again in the same session, nor in another, nor at the same moment', async () => {
  const { browser, email } = await identity.newMember(account_id, 'developer')
  const { secret } = await enrolTotp(browser)
  const code = totpCode(secret)
  const pending = identity.browser()
  await pending.call('signInWithPassword', { email, password: PASSWORD })
  await pending.call('signInWithTotp', { code })
  await expect(browser.call('stepUpWithTotp', { code })).rejects.toEqual(refused('sign_in_failed'))

  const next = totpCode(secret, 1)
  const twins = [copyOf(browser), copyOf(browser)]
  const results = await Promise.allSettled(twins.map((one) => one.call('stepUpWithTotp', { code: next })))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('stepping up lasts five minutes and holds in this session alone; its passkey answer cannot be sent again', async () => {
  const { browser } = await identity.newMember(account_id, 'developer')
  const authenticator = createAuthenticator()
  const created = authenticator.create(
    (await browser.call('beginPasskey', { password: PASSWORD })) as never,
    ORIGIN,
  )
  await browser.call('addPasskey', { name: 'Key', response: created })
  const other = identity.browser()
  const signIn = authenticator.get((await other.call('beginPasskeySignIn')) as never, ORIGIN)
  await other.call('signInWithPasskey', { response: signIn })
  identity.passMs(5 * MINUTE_MS)
  expect([await isStepped(browser), await isStepped(other)]).toEqual([false, false])
  const before = copyOf(browser)
  const response = authenticator.get((await browser.call('beginPasskeyStepUp')) as never, ORIGIN)
  const challenged = copyOf(browser)
  await browser.call('stepUpWithPasskey', { response })
  expect([await isStepped(browser), await isStepped(other)]).toEqual([true, false])
  // The old session id, and the same answer with the same challenge in another session.
  expect(await isIn(before)).toBe(false)
  other.cookies.set('__Host-shopwire-challenge', challenged.cookies.get('__Host-shopwire-challenge') ?? '')
  await expect(other.call('stepUpWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
  identity.passMs(5 * MINUTE_MS)
  expect(await isStepped(browser)).toBe(false)
})

test('another person’s passkey does not step up', async () => {
  const { browser } = await identity.newMember(account_id, 'developer')
  const { browser: attacker } = await identity.newMember(account_id, 'developer')
  const authenticator = createAuthenticator()
  const options = await attacker.call('beginPasskey', { password: PASSWORD })
  await attacker.call('addPasskey', {
    name: 'Mine',
    response: authenticator.create(options as never, ORIGIN),
  })
  const response = authenticator.get((await browser.call('beginPasskeyStepUp')) as never, ORIGIN)
  await expect(browser.call('stepUpWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
})

test('a stolen session adds no passkey: neither by the challenge of a step-up, nor by one that another person was given', async () => {
  const { browser } = await identity.newMember(account_id, 'developer')
  await enrolTotp(browser)
  identity.passMs(6 * MINUTE_MS)
  const rp = { id: new URL(ORIGIN).hostname }
  const add = (challenge: string) =>
    browser.call('addPasskey', {
      name: 'Mine',
      response: createAuthenticator().create({ challenge, rp }, ORIGIN),
    })
  await expect(browser.call('beginPasskey', {})).rejects.toEqual(refused('step_up_required'))
  for (const begin of ['beginPasskeyStepUp', 'beginPasskeySignIn'] as const) {
    const { challenge } = (await browser.call(begin)) as { challenge: string }
    await expect(add(challenge)).rejects.toEqual(refused('invalid_request'))
  }
  const { browser: attacker } = await identity.newMember(account_id, 'developer')
  const { challenge } = (await attacker.call('beginPasskey', { password: PASSWORD })) as { challenge: string }
  const name = '__Host-shopwire-challenge'
  browser.cookies.set(name, attacker.cookies.get(name) ?? '')
  await expect(add(challenge)).rejects.toEqual(refused('invalid_request'))
  expect((await browser.call('getSecurity')).passkeys).toEqual([])
})

test('a recovery code works once', async () => {
  const { browser, email } = await identity.newMember(account_id, 'developer')
  const { recovery_codes } = await enrolTotp(browser)
  const [code = ''] = recovery_codes
  const first = identity.browser()
  await first.call('signInWithPassword', { email, password: PASSWORD })
  await first.call('signInWithRecoveryCode', { code: code.toUpperCase() })
  expect((await first.call('getSecurity')).recovery_codes_left).toBe(9)
  const second = identity.browser()
  await second.call('signInWithPassword', { email, password: PASSWORD })
  await expect(second.call('signInWithRecoveryCode', { code })).rejects.toEqual(refused('sign_in_failed'))
})

test('a session ends after 30 minutes without a request, and after 12 hours with them', async () => {
  const { browser: idle } = await identity.newMember(account_id, 'viewer')
  const { browser: busy } = await identity.newMember(account_id, 'viewer')
  identity.passMs(29 * MINUTE_MS)
  expect(await isIn(busy)).toBe(true)
  identity.passMs(2 * MINUTE_MS)
  expect(await isIn(idle)).toBe(false)
  for (let n = 0; n < 34; n += 1) {
    expect(await isIn(busy)).toBe(true)
    identity.passMs(20 * MINUTE_MS)
  }
  expect(await isIn(busy)).toBe(true)
  identity.passMs(10 * MINUTE_MS)
  expect(await isIn(busy)).toBe(false)
})

test('a new factor needs the factor there is, or the password', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  await expect(browser.call('beginTotp', {})).rejects.toEqual(refused('sign_in_failed'))
  await expect(browser.call('beginPasskey', { password: 'wrong' })).rejects.toEqual(refused('sign_in_failed'))
  await enrolTotp(browser)
  identity.passMs(6 * MINUTE_MS)
  await expect(browser.call('beginPasskey', { password: PASSWORD })).rejects.toEqual(
    refused('step_up_required'),
  )
})

test('the first second factor ends the sessions that came in by the password alone', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const thief = identity.browser()
  expect(await thief.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'enrol' })
  await enrolTotp(browser)
  expect([await isIn(browser), await isIn(thief)]).toEqual([true, false])
})

test('a reset ends every session, verifies the address and works once; changing the password keeps this browser', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const token = await resetToken(email)
  const elsewhere = identity.browser()
  await elsewhere.call('resetPassword', { token, password: 'another long password' })
  expect(await isIn(browser)).toBe(false)
  await expect(elsewhere.call('resetPassword', { token, password: 'a third long one' })).rejects.toEqual(
    refused('link_invalid'),
  )
  const [one, two] = [identity.browser(), identity.browser()]
  for (const each of [one, two])
    await each.call('signInWithPassword', { email, password: 'another long password' })
  await one.call('changePassword', { current: 'another long password', new: PASSWORD })
  expect([await isIn(one), await isIn(two)]).toEqual([true, false])
})

test('signing out everywhere, and ending one session from the list', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const others = [identity.browser(), identity.browser()] as const
  for (const each of others) await each.call('signInWithPassword', { email, password: PASSWORD })
  const { sessions } = await browser.call('getSecurity')
  expect(sessions).toHaveLength(3)
  expect(sessions.filter((one) => one.is_current)).toMatchObject([{ device: 'Firefox on Linux' }])
  const { sessions: seen } = await others[0].call('getSecurity')
  await browser.call('endSession', { id: seen.find((one) => one.is_current)?.id ?? '' })
  expect([await isIn(browser), await isIn(others[0]), await isIn(others[1])]).toEqual([true, false, true])
  await browser.call('signOutEverywhere')
  expect(await isIn(others[1])).toBe(false)
})

test('nothing that a browser or a mailbox holds is in the database, and nothing secret is in the log', async () => {
  const { browser, email } = await identity.newMember(account_id, 'developer')
  const { secret, recovery_codes } = await enrolTotp(browser)
  const token = await resetToken(email)
  const invitation = await identity.invite(account_id, 'stored@example.com', 'viewer')
  const pending = identity.browser()
  await pending.call('signInWithPassword', { email, password: PASSWORD })
  const { csrf_token } = await browser.call('getSession')
  const secrets = [
    browser.cookies.get(SESSION) ?? '',
    decodeURIComponent(pending.cookies.get('__Host-shopwire-pending') ?? '').split('.')[0] ?? '',
    token,
    invitation,
    invitation.split('-').slice(1).join('-'),
    PASSWORD,
    secret,
    csrf_token,
    ...recovery_codes,
  ]
  const dump = await everyRow()
  for (const one of secrets) {
    expect(one.length).toBeGreaterThan(8)
    expect(dump.includes(one)).toBe(false)
    expect(identity.logged().includes(one)).toBe(false)
  }
  // The dump is of the right tables.
  expect(dump).toContain(email)
})

/** Asks for a reset and opens the mail. */
async function resetToken(email: string): Promise<string> {
  await identity.browser(`198.51.100.${randomBytes(1)[0]}`).call('forgotPassword', { email })
  await identity.sessions.settled()
  const mail = await identity.database.owner.one<{ id: string; body_sealed: Buffer }>(
    statement(
      `select id, body_sealed from outgoing_mail where to_address = $1 and subject like 'Choose%' order by id desc limit 1`,
      [email],
    ),
  )
  const binding = { column: 'outgoing_mail.body', account_id: '', row_id: mail.id }
  return /#([\w-]+)/.exec(await identity.keyring.open(mail.body_sealed, binding))?.[1] ?? ''
}

async function everyRow(): Promise<string> {
  const tables = await identity.database.owner.many<{ name: string }>(
    statement(
      `select table_name as name from information_schema.tables where table_schema = 'shopwire' and table_type = 'BASE TABLE'`,
      [],
    ),
  )
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await identity.database.owner
        .one<{ rows: string | null }>(
          statement(`select string_agg(t::text, E'\\n') as rows from ${name} t`, []),
        )
        .catch(() => ({ rows: null }))
      return rows ?? ''
    }),
  )
  return texts.join('\n')
}
