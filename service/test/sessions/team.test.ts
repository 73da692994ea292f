import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemberAct } from '../../src/dashboard/act.ts'
import type { Member } from '../../src/dashboard/member.ts'
import { auditArea } from '../../src/dashboard/team/audit.ts'
import { createMailOwners } from '../../src/dashboard/team/mail-owners.ts'
import { teamArea } from '../../src/dashboard/team/team.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { statement } from '../../src/platform/database/db.ts'
import {
  createInvitation,
  createOperatorInvitation,
  INVITATIONS_PER_DAY_MAX,
} from '../../src/sessions/invitations.ts'
import { createAuthenticator } from '../../testing/authenticator.ts'
import {
  ORIGIN,
  openIdentity,
  PASSWORD,
  type TestBrowser,
  type TestIdentity,
} from '../../testing/identity.ts'

let identity: TestIdentity
let account_id: string
let team: ReturnType<typeof teamArea>
let audit: ReturnType<typeof auditArea>
const left: string[] = []
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
  const db = identity.database.dashboard
  const { keyring } = identity
  const act = createMemberAct(db, systemClock)
  team = teamArea({
    db,
    act,
    keyring,
    mailOwners: createMailOwners(keyring),
    origin: ORIGIN,
    onLeft: (...who) => void left.push(who.join(' ')),
  })
  audit = auditArea({ db })
})
afterAll(() => identity.close())

const refused = (type: string) => expect.objectContaining({ name: 'Refusal', type })

/** As the edge makes it, from the cookie alone. */
async function memberOf(browser: TestBrowser): Promise<Member> {
  const { signed_in } = await identity.sessions.identify(browser.cookieHeader(), identity.nowMs())
  if (!signed_in?.account) throw new Error('not in an account')
  const { person, account, session_id } = signed_in
  return {
    person_id: person.id,
    person_name: person.name,
    email: person.email,
    account_id: account.id,
    role: account.role,
    session_id,
    address: '203.0.113.7',
    request_id: 'req_test',
  }
}
const call = async (browser: TestBrowser, body: object = {}) =>
  ({ member: await memberOf(browser), id: '', query: {}, body, nowMs: identity.nowMs() }) as never

test('an owner invites, changes a role and removes; the removed person is out with the next request', async () => {
  const { browser: owner } = await identity.newMember(account_id, 'owner')
  const { browser: other } = await identity.newMember(account_id, 'developer')
  const { person_id } = await memberOf(other)
  await team.changeRole(await call(owner, { person_id, role: 'finance' }))
  expect((await memberOf(other)).role).toBe('finance')
  const session = await memberOf(other)
  await team.removeMember(await call(owner, { person_id }))
  expect(left).toEqual([`${account_id} ${person_id}`])
  await expect(memberOf(other)).rejects.toThrow('not in an account')
  expect([...(await identity.sessions.stillOpen([session], identity.nowMs()))]).toEqual([])
  // Still a person, in no account.
  expect(await other.call('getSession')).toMatchObject({ account: null, accounts: [] })

  const { rows } = await audit.listAudit(await call(owner))
  expect(rows[0]).toMatchObject({
    action: 'team.remove',
    target: person_id,
    address: '203.0.113.7',
    before: { role: 'finance' },
  })
  expect(rows[1]).toMatchObject({
    action: 'team.change_role',
    before: { role: 'developer' },
    after: { role: 'finance' },
  })
  const mails = await identity.database.owner.many<{ subject: string }>(
    statement(`select subject from outgoing_mail where subject like 'Team of%'`, []),
  )
  expect(mails.length).toBeGreaterThanOrEqual(2)
})

test('the last owner stays, also when two owners remove each other at the same moment', async () => {
  const account = await identity.newAccount('Two owners')
  const { browser: one } = await identity.newMember(account, 'owner')
  await expect(team.leaveAccount(await call(one))).rejects.toEqual(refused('conflict'))
  const { browser: two } = await identity.newMember(account, 'owner')
  const [first, second] = [await memberOf(one), await memberOf(two)]
  // Both are checked at the edge before either begins.
  const calls = [
    await call(one, { person_id: second.person_id }),
    await call(two, { person_id: first.person_id }),
  ]
  const results = await Promise.allSettled(calls.map((each) => team.removeMember(each)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  // Who lost is no owner any more.
  const [lost] = results.filter(({ status }) => status === 'rejected')
  expect(lost).toMatchObject({ reason: refused('role_missing') })
})

test('an owner who was removed or demoted while their request was under way changes nothing', async () => {
  const account = await identity.newAccount('Three owners')
  const people = await Promise.all([1, 2, 3].map(() => identity.newMember(account, 'owner')))
  const [one, two, three] = people.map(({ browser }) => browser) as [TestBrowser, TestBrowser, TestBrowser]
  const third = await memberOf(three)
  const late = await call(two, { person_id: third.person_id, role: 'viewer' })
  await team.changeRole(await call(one, { person_id: (await memberOf(two)).person_id, role: 'viewer' }))
  await expect(team.changeRole(late)).rejects.toEqual(refused('role_missing'))
  await expect(team.removeMember(late)).rejects.toEqual(refused('role_missing'))
  expect((await memberOf(three)).role).toBe('owner')
})

test('somebody who was removed or signed out while their request was under way does nothing, and is asked to sign in', async () => {
  const account = await identity.newAccount('Before')
  const { browser: one } = await identity.newMember(account, 'owner')
  const [two, three] = await Promise.all([1, 2].map(() => identity.newMember(account, 'owner')))
  const rename = (browser: TestBrowser | undefined) => call(browser as TestBrowser, { name: 'After' })
  const [removed, signedOut] = [await rename(two?.browser), await rename(three?.browser)]
  await team.removeMember(
    await call(one, { person_id: (await memberOf(two?.browser as TestBrowser)).person_id }),
  )
  await three?.browser.call('signOutEverywhere')
  for (const late of [removed, signedOut])
    await expect(team.renameAccount(late)).rejects.toEqual(refused('sign_in_required'))
  expect((await one.call('getSession')).account?.name).toBe('Before')
})

test('a person of two accounts switches between them, and sees nothing of the other', async () => {
  const [first, second] = [await identity.newAccount('First'), await identity.newAccount('Second')]
  const { browser, email } = await identity.newMember(first, 'viewer')
  const token = await identity.invite(second, email, 'finance')
  await expect(
    identity.browser().call('acceptInvitation', { token, name: 'Eve', password: PASSWORD }),
  ).rejects.toEqual(refused('conflict'))
  expect(await browser.call('acceptInvitation', { token })).toEqual({ next: 'done' })
  expect(await memberOf(browser)).toMatchObject({ account_id: second, role: 'finance' })
  const { members } = await team.getTeam(await call(browser))
  expect(members.map((one) => one.email)).toEqual([email])
  await browser.call('switchAccount', { account_id: first })
  expect(await memberOf(browser)).toMatchObject({ account_id: first, role: 'viewer' })
  await expect(browser.call('switchAccount', { account_id })).rejects.toEqual(refused('not_found'))
  // Their sign-in is in the log of both; what was done in one account is in the log of that one alone.
  const { rows } = await audit.listAudit(await call(browser))
  expect(rows.every((row) => row.action !== 'team.join' || row.target === (rows[0]?.person_id ?? ''))).toBe(
    true,
  )
})

test('an invitation is withdrawn, replaced and accepted once', async () => {
  const { browser: owner } = await identity.newMember(account_id, 'owner')
  const old = await identity.invite(account_id, 'again@example.com', 'viewer')
  const next = await identity.invite(account_id, 'again@example.com', 'finance')
  await expect(identity.browser().call('openInvitation', { token: old })).rejects.toEqual(
    refused('link_invalid'),
  )
  const { invitations } = await team.getTeam(await call(owner))
  const open = invitations.filter((one) => one.email === 'again@example.com')
  expect(open).toMatchObject([{ role: 'finance', is_expired: false }])
  await team.withdrawInvitation(await call(owner, { id: open[0]?.id }))
  await expect(identity.browser().call('openInvitation', { token: next })).rejects.toEqual(
    refused('link_invalid'),
  )
  const token = await identity.invite(account_id, 'twice@example.com', 'viewer', false)
  const accepted = await Promise.allSettled(
    [1, 2].map(() =>
      identity.browser().call('acceptInvitation', { token, name: 'Twice', password: PASSWORD }),
    ),
  )
  expect(accepted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  // An operator saw this link, so the address is not confirmed by it; a mail asks.
  const asked = await identity.database.owner.many<{ id: string }>(
    statement(
      `select id from outgoing_mail where to_address = 'twice@example.com' and subject like 'Confirm%'`,
      [],
    ),
  )
  expect(asked).toHaveLength(1)
})

test('an operator comes by invitation, sets up a passkey, has no password and belongs to no account', async () => {
  const { link } = await identity.database.operator.transaction((tx) =>
    createOperatorInvitation(
      tx,
      { keyring: identity.keyring, origin: ORIGIN },
      { email: 'root@example.com', name: 'Root' },
      identity.nowMs(),
    ),
  )
  const token = link.split('#')[1] as string
  const browser = identity.browser()
  expect(await browser.call('openInvitation', { token })).toMatchObject({ role: null })
  await browser.call('acceptInvitation', { token })
  const authenticator = createAuthenticator()
  const options = await browser.call('beginPasskey', {})
  await browser.call('addPasskey', { name: 'Key', response: authenticator.create(options as never, ORIGIN) })
  await expect(identity.browser().call('acceptInvitation', { token })).rejects.toEqual(
    refused('link_invalid'),
  )
  await expect(browser.call('beginTotp', {})).rejects.toEqual(refused('conflict'))
  const again = identity.browser()
  const response = authenticator.get((await again.call('beginPasskeySignIn')) as never, ORIGIN)
  await again.call('signInWithPasskey', { response })
  expect(await again.call('getSession')).toMatchObject({
    person: { kind: 'operator', has_password: false, has_passkey: true },
    account: null,
    accounts: [],
  })

  // Invited again, with a passkey: the link signs nobody in.
  const invitedAgain = await identity.database.operator.transaction((tx) =>
    createOperatorInvitation(
      tx,
      { keyring: identity.keyring, origin: ORIGIN },
      { email: 'root@example.com', name: 'Root' },
      identity.nowMs(),
    ),
  )
  const stranger = identity.browser()
  const second = invitedAgain.link.split('#')[1] as string
  expect(await stranger.call('acceptInvitation', { token: second })).toEqual({ next: 'passkey' })
  expect((await stranger.call('getSession')).person).toBeNull()

  // An owner is not told whose address this is, and nothing comes of it.
  const { browser: owner } = await identity.newMember(account_id, 'owner')
  const invited = await team.invite(await call(owner, { email: 'root@example.com', role: 'owner' }))
  expect(invited).toMatchObject({ email: 'root@example.com', role: 'owner' })
  const inviter = { id: (await memberOf(owner)).person_id, name: 'The owner' }
  const third = await identity.database.operator.transaction((tx) =>
    createInvitation(
      tx,
      { keyring: identity.keyring, origin: ORIGIN },
      {
        account_id,
        account_name: 'Acme',
        email: 'root@example.com',
        role: 'owner',
        inviter,
        is_mailed_only: true,
      },
      identity.nowMs(),
    ),
  )
  await expect(again.call('acceptInvitation', { token: third.link.split('#')[1] as string })).rejects.toEqual(
    refused('conflict'),
  )
  expect((await again.call('getSession')).accounts).toEqual([])
})

test('an owner renames the account: everybody sees it at once, and the log has both names', async () => {
  const account = await identity.newAccount('Before')
  const { browser: owner } = await identity.newMember(account, 'owner')
  const { browser: other } = await identity.newMember(account, 'viewer')
  const versionOf = async () =>
    (
      await identity.database.owner.one<{ access_version: number }>(
        statement('select access_version from accounts where id = $1', [account]),
      )
    ).access_version
  const version = await versionOf()
  expect(await team.renameAccount(await call(owner, { name: 'After' }))).toEqual({ ok: true })
  expect((await other.call('getSession')).account?.name).toBe('After')
  // API processes read the keys of the account again, and with them its name.
  expect(await versionOf()).toBeGreaterThan(version)
  const { rows } = await audit.listAudit(await call(owner))
  expect(rows[0]).toMatchObject({
    action: 'account.rename',
    target: account,
    before: { name: 'Before' },
    after: { name: 'After' },
  })
  for (const name of ['', 'two\nlines', 'x'.repeat(101), '\u202eevil'])
    await expect(team.renameAccount(await call(owner, { name }))).rejects.toEqual(refused('invalid_request'))
  expect((await memberOf(owner)).account_id).toBe(account)
})

test('the audit log is paged and filtered', async () => {
  const account = await identity.newAccount('Paged')
  const { browser: owner } = await identity.newMember(account, 'owner')
  for (let n = 0; n < 5; n += 1)
    await team.invite(await call(owner, { email: `p${n}@example.com`, role: 'viewer' }))
  const query = (given: object) => memberOf(owner).then((member) => ({ member, query: given }) as never)
  const first = await audit.listAudit(await query({ limit: 2, action: 'team' }))
  expect(first.rows.map((row) => row.after?.email)).toEqual(['p4@example.com', 'p3@example.com'])
  expect(first.previous).toBeNull()
  const second = await audit.listAudit(await query({ limit: 2, action: 'team', before: first.next }))
  expect(second.rows.map((row) => row.after?.email)).toEqual(['p2@example.com', 'p1@example.com'])
  const back = await audit.listAudit(await query({ limit: 2, action: 'team', after: second.previous }))
  expect(back.rows).toEqual(first.rows)
  expect(back.previous).toBeNull()
  expect((await audit.listAudit(await query({ target: first.rows[0]?.target }))).rows).toHaveLength(1)
})

// The last one: it moves the clock of the calls by a day.
test('an account sends fifty invitations a day, and not one more, also of sixty at once', async () => {
  const account = await identity.newAccount('Many')
  const { browser: owner } = await identity.newMember(account, 'owner')
  // The owner's own was one.
  const calls = await Promise.all(
    Array.from({ length: 60 }, (_, n) => call(owner, { email: `again-${n}@example.com`, role: 'viewer' })),
  )
  const settled = await Promise.allSettled(calls.map((one) => team.invite(one)))
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(INVITATIONS_PER_DAY_MAX - 1)
  const next = () => call(owner, { email: 'one-more@example.com', role: 'viewer' })
  await expect(team.invite(await next())).rejects.toEqual(refused('conflict'))
  identity.passMs(25 * 3_600_000)
  const { browser: back } = await identity.newMember(account, 'owner')
  await team.invite(await call(back, { email: 'one-more@example.com', role: 'viewer' }))
})
