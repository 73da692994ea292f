import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthenticator } from '../../testing/authenticator.ts'
import {
  enrolTotp,
  ORIGIN,
  openIdentity,
  PASSWORD,
  type TestIdentity,
  totpCode,
} from '../../testing/identity.ts'

// Threat 66: coming in with less than both factors.

let identity: TestIdentity
let account_id: string
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
})
afterAll(() => identity.close())

const SESSION = '__Host-shopwire-session'
const refused = (type: string) => expect.objectContaining({ name: 'Refusal', type })

test('an invitation makes a person, once, and signs them in without a second factor', async () => {
  const token = await identity.invite(account_id, 'ada@example.com', 'owner')
  const browser = identity.browser()
  expect(await browser.call('openInvitation', { token })).toMatchObject({
    account_name: 'Acme',
    role: 'owner',
    email: 'ada@example.com',
    is_known_person: false,
  })
  const reply = await browser.call('acceptInvitation', { token, name: 'Ada', password: PASSWORD })
  expect(reply).toEqual({ next: 'enrol' })
  const session = await browser.call('getSession')
  expect(session).toMatchObject({
    person: { name: 'Ada', email: 'ada@example.com', is_email_verified: true, has_totp: false },
    account: { id: account_id, name: 'Acme', role: 'owner' },
    stepped_up_until: null,
  })
  await expect(
    identity.browser().call('acceptInvitation', { token, name: 'Eve', password: PASSWORD }),
  ).rejects.toEqual(refused('link_invalid'))
})

test('password, then a code: the state in between is no session', async () => {
  const { browser: first, email } = await identity.newMember(account_id, 'developer')
  const { secret } = await enrolTotp(first)
  const browser = identity.browser()
  expect(await browser.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'totp' })
  expect(browser.cookies.has(SESSION)).toBe(false)
  expect(await browser.call('getSession')).toMatchObject({ person: null, is_second_factor_pending: true })
  await expect(browser.call('signInWithTotp', { code: '000000' })).rejects.toEqual(refused('sign_in_failed'))
  expect(await browser.call('signInWithTotp', { code: totpCode(secret) })).toEqual({ next: 'done' })
  const session = await browser.call('getSession')
  expect(session.person?.email).toBe(email)
  expect(session.stepped_up_until).not.toBeNull()
})

test('a passkey signs in and steps up; without verification of the person it does not', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', { password: PASSWORD })
  await browser.call('addPasskey', {
    name: 'Laptop',
    response: authenticator.create(options as never, ORIGIN),
  })
  const other = identity.browser()
  const request = await other.call('beginPasskeySignIn')
  const response = authenticator.get(request as never, ORIGIN)
  expect(await other.call('signInWithPasskey', { response })).toEqual({ next: 'done' })
  expect((await other.call('getSecurity')).passkeys).toMatchObject([{ name: 'Laptop' }])
  // The same answer again: its challenge is used up.
  await expect(other.call('signInWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
  authenticator.isUserVerified = false
  const third = identity.browser()
  const weak = authenticator.get((await third.call('beginPasskeySignIn')) as never, ORIGIN)
  await expect(third.call('signInWithPasskey', { response: weak })).rejects.toEqual(refused('sign_in_failed'))
})

test('somebody whose only second factor is a passkey is not signed in by the password', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', { password: PASSWORD })
  await browser.call('addPasskey', {
    name: 'Laptop',
    response: authenticator.create(options as never, ORIGIN),
  })
  const other = identity.browser()
  expect(await other.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'passkey' })
  expect([...other.cookies.keys()]).toEqual([])
  expect(await other.call('getSession')).toMatchObject({ person: null, account: null })
  const response = authenticator.get((await other.call('beginPasskeySignIn')) as never, ORIGIN)
  expect(await other.call('signInWithPasskey', { response })).toEqual({ next: 'done' })
  expect((await other.call('getSession')).person?.email).toBe(email)
})

test('open connections go on signing people in after the tables got new columns', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const { secret } = await enrolTotp(browser)
  const tables = ['people', 'credentials', 'authenticator_apps', 'passkeys', 'one_time_values', 'sessions']
  for (const table of tables) await identity.database.asOwner(`alter table ${table} add column later text`)
  const again = identity.browser()
  expect(await again.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'totp' })
  expect(await again.call('signInWithTotp', { code: totpCode(secret) })).toEqual({ next: 'done' })
})
