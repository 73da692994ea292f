import { createHash, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SEALED_COLUMNS } from '../../src/operations/sealed-columns.ts'
import { statement } from '../../src/platform/database/db.ts'
import { localKeks, openKeyring } from '../../src/platform/encryption/encryption.ts'
import { reEncryptColumn } from '../../src/platform/encryption/re-encrypt.ts'
import { createAuthenticator } from '../../testing/authenticator.ts'
import { openTestDatabase } from '../../testing/database.ts'
import {
  enrolTotp,
  ORIGIN,
  openIdentity,
  PASSWORD,
  type TestBrowser,
  type TestIdentity,
  totpCode,
} from '../../testing/identity.ts'

// Threat 66: what proves who somebody is counts once, and is used up together with what it was given for.

let identity: TestIdentity
let account_id: string
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
  await identity.database.asOwner(`
    create table broken (at int);
    create function refuse_audit() returns trigger language plpgsql as $$
    begin
      if exists (select from broken) then raise exception 'no audit row today'; end if;
      return new;
    end $$;
    grant select on broken to public;
    create trigger refuse_audit before insert on audit_log for each row execute function refuse_audit();`)
})
afterAll(() => identity.close())

const refused = (type: string) => expect.objectContaining({ name: 'Refusal', type })

/** Fails while no audit row can be written and changes nothing; then the very same succeeds. */
async function failsThenWorks<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const before = await state()
  await identity.database.asOwner('insert into broken values (1)')
  await expect(attempt()).rejects.toThrow('no audit row today')
  await identity.database.asOwner('delete from broken')
  expect(await state()).toEqual(before)
  return attempt()
}

const state = async () =>
  (
    await identity.database.owner.one<{ rows: unknown }>(
      statement(
        `select jsonb_build_object(
           'people', (select jsonb_agg(to_jsonb(p) order by p.id) from people p),
           'apps', (select jsonb_agg(to_jsonb(a) order by a.id) from authenticator_apps a),
           'passkeys', (select jsonb_agg(to_jsonb(k) order by k.id) from passkeys k),
           'waiting', (select jsonb_agg(to_jsonb(o) order by o.token_hash) from one_time_values o),
           'sessions', (select count(*) from sessions),
           'mail', (select count(*) from outgoing_mail)) as rows`,
        [],
      ),
    )
  ).rows

async function passwordGiven(email: string): Promise<TestBrowser> {
  const browser = identity.browser()
  expect(await browser.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'totp' })
  return browser
}

async function addPasskey(browser: TestBrowser, authenticator = createAuthenticator()) {
  const options = await browser.call('beginPasskey', { password: PASSWORD })
  const response = authenticator.create(options as never, ORIGIN)
  return { authenticator, passkey: await browser.call('addPasskey', { name: 'Key', response }) }
}

test('an app, its codes, recovery codes and passkeys are stored and used up with their audit row or not at all', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const { secret } = await browser.call('beginTotp', { password: PASSWORD })
  const now = { code: totpCode(secret) }
  const { recovery_codes } = await failsThenWorks(() => browser.call('confirmTotp', now))
  const next = { code: totpCode(secret, 1) }
  await failsThenWorks(() => browser.call('stepUpWithTotp', next))
  const [one = '', two = ''] = recovery_codes
  await failsThenWorks(() => browser.call('stepUpWithRecoveryCode', { code: one }))

  const { browser: other, email: theirs } = await identity.newMember(account_id, 'viewer')
  const { secret: second } = await enrolTotp(other)
  const byCode = await passwordGiven(theirs)
  const code = totpCode(second)
  await failsThenWorks(() => byCode.call('signInWithTotp', { code }))
  const byRecovery = await passwordGiven(email)
  await failsThenWorks(() => byRecovery.call('signInWithRecoveryCode', { code: two }))
  expect((await byRecovery.call('getSecurity')).recovery_codes_left).toBe(8)

  const authenticator = createAuthenticator()
  const created = authenticator.create((await browser.call('beginPasskey', {})) as never, ORIGIN)
  await failsThenWorks(() => browser.call('addPasskey', { name: 'Key', response: created }))
  const visitor = identity.browser()
  const response = authenticator.get((await visitor.call('beginPasskeySignIn')) as never, ORIGIN)
  await failsThenWorks(() => visitor.call('signInWithPasskey', { response }))
})

test('of two sign-ins with the same recovery code at the same moment one succeeds', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const { recovery_codes } = await enrolTotp(browser)
  const twins = [await passwordGiven(email), await passwordGiven(email)]
  const results = await Promise.allSettled(
    twins.map((one) => one.call('signInWithRecoveryCode', { code: recovery_codes[0] ?? '' })),
  )
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('a password that was given is good for one sign-in', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const { recovery_codes } = await enrolTotp(browser)
  const pending = await passwordGiven(email)
  const copy = identity.browser()
  for (const [name, value] of pending.cookies) copy.cookies.set(name, value)
  const [one = '', two = ''] = recovery_codes
  await pending.call('signInWithRecoveryCode', { code: one })
  expect(await copy.call('getSession')).toMatchObject({ is_second_factor_pending: false })
  await expect(copy.call('signInWithRecoveryCode', { code: two })).rejects.toEqual(refused('sign_in_failed'))
})

test('a code that is older than one that was used does not count', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { secret } = await enrolTotp(browser)
  await browser.call('stepUpWithTotp', { code: totpCode(secret, 1) })
  await expect(browser.call('stepUpWithTotp', { code: totpCode(secret) })).rejects.toEqual(
    refused('sign_in_failed'),
  )
})

test('a code that is two steps away is wrong', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { secret } = await enrolTotp(browser)
  await expect(browser.call('stepUpWithTotp', { code: totpCode(secret, 3) })).rejects.toEqual(
    refused('sign_in_failed'),
  )
})

test('the first answer uses a challenge up, also a wrong one', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { authenticator } = await addPasskey(browser)
  const visitor = identity.browser()
  const options = (await visitor.call('beginPasskeySignIn')) as never
  for (const isUserVerified of [false, true]) {
    authenticator.isUserVerified = isUserVerified
    const response = authenticator.get(options, ORIGIN)
    await expect(visitor.call('signInWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
  }
})

test('a challenge is worth nothing after five minutes', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { authenticator } = await addPasskey(browser)
  const visitor = identity.browser()
  const response = authenticator.get((await visitor.call('beginPasskeySignIn')) as never, ORIGIN)
  identity.passMs(5 * 60_000)
  await expect(visitor.call('signInWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
})

test('a passkey that has signed less often than it did before is refused: it may be a copy', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const { authenticator, passkey } = await addPasskey(browser)
  await identity.database.asOwner(`update passkeys set counter = 1000 where id = '${passkey.id}'`)
  const visitor = identity.browser()
  const response = authenticator.get((await visitor.call('beginPasskeySignIn')) as never, ORIGIN)
  await expect(visitor.call('signInWithPasskey', { response })).rejects.toEqual(refused('sign_in_failed'))
})

test('a passkey that did not verify the person, or that somebody has already, is not added', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const weak = createAuthenticator()
  weak.isUserVerified = false
  await expect(addPasskey(browser, weak)).rejects.toEqual(refused('invalid_request'))
  const { authenticator } = await addPasskey(browser)
  const { browser: other } = await identity.newMember(account_id, 'viewer')
  await expect(addPasskey(other, authenticator)).rejects.toEqual(refused('invalid_request'))
})

test('a passkey that brings a certificate of its maker is not added: we ask for none', async () => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  const options = await browser.call('beginPasskey', { password: PASSWORD })
  const made = createAuthenticator().create(options as never, ORIGIN) as { response: Attested }
  const response = { ...made, response: certified(made.response) }
  await expect(browser.call('addPasskey', { name: 'Key', response })).rejects.toEqual(
    refused('invalid_request'),
  )
})

test.each([
  ['no answer', {}],
  ['an id that is no text', { id: { toString: 1 } }],
  ['an id that no authenticator has', { id: 'abc\0' }],
  ['nothing inside', { id: 'abc', rawId: 'abc', type: 'public-key', response: null }],
])('a malformed answer is refused: %s', async (_, response) => {
  const { browser } = await identity.newMember(account_id, 'viewer')
  await browser.call('beginPasskey', { password: PASSWORD })
  await expect(browser.call('addPasskey', { name: 'Key', response })).rejects.toEqual(
    refused('invalid_request'),
  )
  const { authenticator } = await addPasskey(browser)
  const visitor = identity.browser()
  const asked = (await visitor.call('beginPasskeySignIn')) as never
  const { id } = authenticator.get(asked, ORIGIN) as { id: string }
  const answer = 'rawId' in response ? { ...response, id, rawId: id } : response
  await expect(visitor.call('signInWithPasskey', { response: answer })).rejects.toEqual(
    refused('sign_in_failed'),
  )
})

test('after the encryption key was changed, codes and recovery codes work under the new one alone', async () => {
  const database = await openTestDatabase()
  const [k1, k2] = [randomBytes(32), randomBytes(32)]
  const on = (keys: readonly [string, Buffer][], active: string) =>
    openIdentity({ on: { database, keyring: openKeyring(localKeks(new Map(keys), active)) } })
  const before = await on([['k1', k1]], 'k1')
  const { browser, email } = await before.newMember(await before.newAccount(), 'viewer')
  const { secret, recovery_codes } = await enrolTotp(browser)
  await before.sessions.settled()

  const both = openKeyring(
    localKeks(
      new Map([
        ['k1', k1],
        ['k2', k2],
      ]),
      'k2',
    ),
  )
  const unopened: unknown[] = []
  const report = { onUnopened: (row: unknown) => void unopened.push(row) }
  for (const column of SEALED_COLUMNS) await reEncryptColumn(database.operator, both, column, report)
  expect(unopened).toEqual([])

  const after = await on([['k2', k2]], 'k2')
  for (const finish of [
    (one: TestBrowser) => one.call('signInWithTotp', { code: totpCode(secret) }),
    (one: TestBrowser) => one.call('signInWithRecoveryCode', { code: recovery_codes[0] ?? '' }),
  ]) {
    const again = after.browser()
    await again.call('signInWithPassword', { email, password: PASSWORD })
    expect(await finish(again)).toEqual({ next: 'done' })
  }
  await after.close()
})

interface Attested {
  readonly clientDataJSON: string
  readonly attestationObject: string
}

/** Made for this test, with its key: a certificate as makers of authenticators have them. */
const CERTIFICATE = Buffer.from(
  'MIIB5jCCAYygAwIBAgIUExqpWZBff0K0dI+H48+Zfr8prK0wCgYIKoZIzj0EAwIwSTELMAkGA1UEBhMCVVMxCjAIBgNVBAoMAUEx' +
    'IjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xCjAIBgNVBAMMAUIwIBcNMjYxMTE4MTYxNTM1WhgPMjEyNjEwMjUx' +
    'NjE1MzVaMEkxCzAJBgNVBAYTAlVTMQowCAYDVQQKDAFBMSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMQowCAYD' +
    'VQQDDAFCMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEB2NhuhKOUvSyO1zEPXv2daCj5JfyRndbtT3+HLJeQZlF10Gfqsc25W1p' +
    'L/oQDkybx+/qpMHeKYjTRIMihDv+vaNQME4wHQYDVR0OBBYEFF/l9z4QTwl66x+TWleSquQmeKwVMB8GA1UdIwQYMBaAFF/l9z4Q' +
    'Twl66x+TWleSquQmeKwVMAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSAAwRQIgBoBfF1ReDHYe8+cBN0O+PNxZ7G6sF6L6Asjq' +
    'EfAsXrICIQC935gn8RoMfqNxwOjak0uDV5KGWX+l5GF0QjDDHIYIfA==',
  'base64',
)
const CERTIFICATE_KEY = createPrivateKey({
  key: Buffer.from(
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnfnn284hlwuV9vN33N2VeViiohRwX7YhFK8IkVVtH32hRANCAAQH' +
      'Y2G6Eo5S9LI7XMQ9e/Z1oKPkl/JGd1u1Pf4csl5BmUXXQZ+qxzblbWkv+hAOTJvH7+qkwd4piNNEgyKEO/69',
    'base64',
  ),
  format: 'der',
  type: 'pkcs8',
})

/** The same answer with a valid statement of its maker, in the form "packed". */
function certified(response: Attested): Attested {
  const old = Buffer.from(response.attestationObject, 'base64url')
  const plain = Buffer.concat([
    text('fmt'),
    text('none'),
    text('attStmt'),
    Buffer.from([0xa0]),
    text('authData'),
  ])
  const rest = old.subarray(old.indexOf(plain) + plain.length)
  // A byte string: its head has two or three bytes.
  const authData = rest.subarray(rest[0] === 0x58 ? 2 : 3)
  const client = createHash('sha256').update(Buffer.from(response.clientDataJSON, 'base64url')).digest()
  const signature = sign('sha256', Buffer.concat([authData, client]), CERTIFICATE_KEY)
  const attestationObject = Buffer.concat([
    Buffer.from([0xa3]),
    text('fmt'),
    text('packed'),
    text('attStmt'),
    Buffer.from([0xa3]),
    text('alg'),
    Buffer.from([0x26]),
    text('sig'),
    Buffer.from([0x58, signature.length]),
    signature,
    text('x5c'),
    Buffer.from([0x81, 0x59, CERTIFICATE.length >> 8, CERTIFICATE.length & 255]),
    CERTIFICATE,
    text('authData'),
    rest,
  ])
  return { ...response, attestationObject: attestationObject.toString('base64url') }
}

const text = (letters: string) => Buffer.concat([Buffer.from([0x60 | letters.length]), Buffer.from(letters)])
