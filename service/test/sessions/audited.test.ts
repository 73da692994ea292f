import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/platform/database/db.ts'
import { createAuthenticator } from '../../testing/authenticator.ts'
import { enrolTotp, ORIGIN, openIdentity, PASSWORD, type TestIdentity } from '../../testing/identity.ts'

// Threat 66: what a person does to their sign-in and its audit row are stored together or not at all.

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

const breakAudit = (isBroken: boolean) =>
  identity.database.asOwner(isBroken ? 'insert into broken values (1)' : 'delete from broken')

/** Everything that says who may sign in how. When a passkey was last used is no change. */
const state = async () =>
  (
    await identity.database.owner.one<{ rows: unknown }>(
      statement(
        `select jsonb_build_object(
           'people', (select jsonb_agg(to_jsonb(p) order by p.id) from people p),
           'credentials', (select jsonb_agg(to_jsonb(c) order by c.id) from credentials c),
           'apps', (select jsonb_agg(to_jsonb(a) order by a.id) from authenticator_apps a),
           'passkeys', (select jsonb_agg(jsonb_build_array(k.id, k.name) order by k.id) from passkeys k),
           'sessions', (select jsonb_agg(jsonb_build_array(s.id, s.stepped_up_at, encode(s.token_hash, 'hex')) order by s.id) from sessions s),
           'mail', (select count(*) from outgoing_mail)) as rows`,
        [],
      ),
    )
  ).rows

test('nothing about a sign-in changes when its audit row cannot be written', async () => {
  const { browser, email } = await identity.newMember(account_id, 'owner')
  await enrolTotp(browser)
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', {})
  const passkey = await browser.call('addPasskey', {
    name: 'Key',
    response: authenticator.create(options as never, ORIGIN),
  })
  const { sessions } = await browser.call('getSecurity')
  await identity.browser('198.51.100.9').call('forgotPassword', { email })
  await identity.sessions.settled()
  const token = await tokenOf(email)
  const asked = await browser.call('beginPasskeyStepUp')
  const stepUp = { response: authenticator.get(asked as never, ORIGIN) }
  const visitor = identity.browser()
  const signIn = {
    response: authenticator.get((await visitor.call('beginPasskeySignIn')) as never, ORIGIN),
  }
  const { email: other } = await identity.newMember(account_id, 'viewer')

  await breakAudit(true)
  const before = await state()
  const attempts: readonly [string, () => Promise<unknown>][] = [
    ['step up', () => browser.call('stepUpWithPasskey', stepUp)],
    ['sign in with a passkey', () => visitor.call('signInWithPasskey', signIn)],
    [
      'sign in with a password',
      () => identity.browser().call('signInWithPassword', { email: other, password: PASSWORD }),
    ],
    ['rename a passkey', () => browser.call('renamePasskey', { id: passkey.id, name: 'Other' })],
    ['remove a passkey', () => browser.call('removePasskey', { id: passkey.id })],
    ['remove the app', () => browser.call('removeTotp')],
    ['renew the codes', () => browser.call('renewRecoveryCodes')],
    ['rename oneself', () => browser.call('renamePerson', { name: 'Other' })],
    [
      'change the password',
      () => browser.call('changePassword', { current: PASSWORD, new: 'another long one' }),
    ],
    ['end a session', () => browser.call('endSession', { id: sessions[0]?.id ?? '' })],
    ['sign out', () => browser.call('signOut')],
    ['sign out everywhere', () => browser.call('signOutEverywhere')],
    ['reset', () => identity.browser().call('resetPassword', { token, password: 'another long one' })],
  ]
  for (const [what, attempt] of attempts) {
    const outcome = await attempt().then(
      () => 'done',
      () => 'failed',
    )
    expect([what, outcome, await state()]).toEqual([what, 'failed', before])
  }
  await breakAudit(false)
  expect((await browser.call('getSession')).person?.email).toBe(email)
})

test('a new name of a person and of a passkey, and a removed passkey, are recorded with what was before', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', { password: PASSWORD })
  const response = authenticator.create(options as never, ORIGIN)
  const { id } = await browser.call('addPasskey', { name: 'Old key', response })
  await browser.call('renamePasskey', { id, name: 'New key' })
  await browser.call('removePasskey', { id })
  await browser.call('renamePerson', { name: 'New name' })
  const rows = await identity.database.owner.many<{ action: string; details: object }>(
    statement(
      `select a.action, a.details from audit_log a join people p on a.actor = 'person:' || p.id
        where p.email = $1 and (a.action like '%rename' or a.action like '%remove') order by a.id`,
      [email],
    ),
  )
  expect(rows.map(({ action, details }) => [action, details])).toMatchObject([
    ['passkey.rename', { before: { name: 'Old key' }, after: { name: 'New key' } }],
    ['passkey.remove', { before: { name: 'New key' } }],
    ['person.rename', { before: { name: 'The viewer' }, after: { name: 'New name' } }],
  ])
})

test('whoever began to sign in with the old password, or asked for another link, cannot go on after a reset', async () => {
  const { browser, email } = await identity.newMember(account_id, 'viewer')
  const { recovery_codes } = await enrolTotp(browser)
  const thief = identity.browser()
  expect(await thief.call('signInWithPassword', { email, password: PASSWORD })).toEqual({ next: 'totp' })
  const ask = async () => {
    await identity.browser('198.51.100.10').call('forgotPassword', { email })
    await identity.sessions.settled()
    return tokenOf(email)
  }
  const [first, second] = [await ask(), await ask()]
  await identity.browser().call('resetPassword', { token: second, password: 'another long password' })
  const refused = (type: string) => expect.objectContaining({ name: 'Refusal', type })
  await expect(thief.call('signInWithRecoveryCode', { code: recovery_codes[0] ?? '' })).rejects.toEqual(
    refused('sign_in_failed'),
  )
  await expect(
    identity.browser().call('resetPassword', { token: first, password: 'a third long password' }),
  ).rejects.toEqual(refused('link_invalid'))
})

/** Of the newest mail with a link to choose a new password. */
async function tokenOf(email: string): Promise<string> {
  const mail = await identity.database.owner.one<{ id: string; body_sealed: Buffer }>(
    statement(
      `select id, body_sealed from outgoing_mail where to_address = $1 and subject like 'Choose%' order by id desc limit 1`,
      [email],
    ),
  )
  const binding = { column: 'outgoing_mail.body', account_id: '', row_id: mail.id }
  return /#([\w-]+)/.exec(await identity.keyring.open(mail.body_sealed, binding))?.[1] ?? ''
}
