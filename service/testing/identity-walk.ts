import type { Role } from '@shopwire/contract/dashboard'
import { createMemberAct } from '../src/dashboard/act.ts'
import { alertAddressArea } from '../src/dashboard/money/alert-addresses.ts'
import { createMailOwners } from '../src/dashboard/team/mail-owners.ts'
import { teamArea } from '../src/dashboard/team/team.ts'
import { createOperator } from '../src/operations/operator.ts'
import { systemClock } from '../src/platform/clock.ts'
import type { Keyring } from '../src/platform/encryption/encryption.ts'
import { deleteExpired } from '../src/sessions/session-store.ts'
import { createAuthenticator } from './authenticator.ts'
import type { TestDatabase } from './database.ts'
import { enrolTotp, ORIGIN, openIdentity, PASSWORD, type TestBrowser, totpCode } from './identity.ts'
import { sendDueMail } from './send-mail.ts'

const MINUTE_MS = 60_000
const MONTH_MS = 31 * 86_400_000

/** Everything that people can do to their sign-in and their team, and operators to people, once. */
export async function walkIdentity(on: { database: TestDatabase; keyring: Keyring }): Promise<void> {
  const { database, keyring } = on
  const identity = await openIdentity({ on })
  const account_id = await identity.newAccount('Walked')
  const operator = createOperator(
    {
      db: database.operator,
      keyring,
      clock: systemClock,
      cell: 'c1',
      admission: () => Promise.reject(new Error('not used')),
      dashboardOrigin: ORIGIN,
    },
    'test',
  )

  // One's own sign-in.
  const { browser: owner, email } = await identity.newMember(account_id, 'owner')
  await identity
    .browser()
    .call('signInWithPassword', { email, password: 'wrong' })
    .catch(() => {})
  const { secret, recovery_codes } = await enrolTotp(owner)
  await owner.call('stepUpWithTotp', { code: totpCode(secret) })
  const second = identity.browser()
  await second.call('signInWithPassword', { email, password: PASSWORD })
  await second.call('signInWithTotp', { code: totpCode(secret, 1) })
  await second.call('stepUpWithRecoveryCode', { code: recovery_codes[0] ?? '' })
  await second.call('signOut')
  await second.call('signInWithPassword', { email, password: PASSWORD })
  await second.call('signInWithRecoveryCode', { code: recovery_codes[1] ?? '' })
  await owner.call('renewRecoveryCodes')
  const authenticator = createAuthenticator()
  const options = await owner.call('beginPasskey', {})
  const passkey = await owner.call('addPasskey', {
    name: 'Key',
    response: authenticator.create(options as never, ORIGIN),
  })
  const asked = await owner.call('beginPasskeyStepUp')
  await owner.call('stepUpWithPasskey', { response: authenticator.get(asked as never, ORIGIN) })
  const begun = await second.call('beginPasskeySignIn')
  await second.call('signInWithPasskey', { response: authenticator.get(begun as never, ORIGIN) })
  await owner.call('renamePasskey', { id: passkey.id, name: 'Other' })
  await owner.call('removePasskey', { id: passkey.id })
  await owner.call('changePassword', { current: PASSWORD, new: PASSWORD })
  await owner.call('renamePerson', { name: 'Renamed' })
  await owner.call('removeTotp')
  await owner.call('switchAccount', { account_id })
  identity.passMs(MINUTE_MS)
  await owner.call('getSession')
  const idle = identity.browser()
  await idle.call('signInWithPassword', { email, password: PASSWORD })
  await idle.call('signOut')
  await idle.call('signInWithPassword', { email, password: PASSWORD })
  identity.passMs(31 * MINUTE_MS)
  await idle.call('getSession')
  await owner.call('signInWithPassword', { email, password: PASSWORD })
  await identity.browser().call('forgotPassword', { email })
  await identity.sessions.settled()

  // The team, and what operators do.
  const invite = async (role: Role) => {
    const { browser } = await identity.newMember(account_id, role)
    return { browser, member: await memberOf(browser) }
  }
  const memberOf = async (browser: TestBrowser) => {
    const { signed_in } = await identity.sessions.identify(browser.cookieHeader(), identity.nowMs())
    if (!signed_in?.account) throw new Error('not in an account')
    const { person, account, session_id } = signed_in
    const of = { person_id: person.id, person_name: person.name, email: person.email, session_id }
    return { ...of, account_id: account.id, role: account.role, address: '203.0.113.7', request_id: 'req_1' }
  }
  const team = teamArea({
    db: database.dashboard,
    act: createMemberAct(database.dashboard, systemClock),
    keyring,
    mailOwners: createMailOwners(keyring),
    origin: ORIGIN,
    onLeft() {},
  })
  const member = await memberOf(owner)
  const call = (body: object) => ({ member, id: '', query: {}, body, nowMs: identity.nowMs() }) as never
  const invited = await team.invite(call({ email: 'again@example.com', role: 'viewer' }))
  await team.withdrawInvitation(call({ id: invited.id }))
  const alerts = alertAddressArea({
    act: createMemberAct(database.dashboard, systemClock),
    keyring,
    origin: ORIGIN,
    attempts: identity.sessions.attempts,
  })
  await alerts.addAlertAddress(call({ email: 'books@example.com' }))
  const [one, two] = [await invite('viewer'), await invite('developer')]
  await team.changeRole(call({ person_id: one.member.person_id, role: 'finance' }))
  await team.removeMember(call({ person_id: one.member.person_id }))
  await two.browser.call('signOutEverywhere')
  await team.renameAccount(call({ name: 'Renamed' }))
  const { link } = await operator.invitePerson(account_id, { email: 'shown@example.com', role: 'viewer' })
  await identity
    .browser()
    .call('acceptInvitation', { token: tokenIn(link), name: 'Shown', password: PASSWORD })
  await operator.resetFactors('shown@example.com', 'test')
  await operator.removePerson(account_id, 'shown@example.com', 'test')
  const root = await operator.inviteOperator({ email: 'root@example.com', name: 'Root' })
  await identity.browser().call('acceptInvitation', { token: tokenIn(root.link) })
  await operator.addOperator({ email: 'root@example.com', days: 1, isFirst: true })
  await operator.revokeOperator('root@example.com', 'test')

  // Mail, and what is removed after its time.
  const texts: string[] = []
  await sendDueMail({
    db: database.worker,
    keyring,
    async send({ to, text }) {
      texts.push(text)
      if (to === 'shown@example.com')
        throw Object.assign(new Error('refused'), { code: 'EENVELOPE', responseCode: 550 })
    },
  })
  const confirmation = texts.find((text) => text.includes('/confirm-alerts#'))
  await identity.browser().call('confirmAlertAddress', { token: tokenIn(confirmation ?? '') })
  await alerts.removeAlertAddress(call({ email: 'books@example.com' }))
  // Ends the sessions of the owner.
  const reset = texts.find((text) => text.includes('/reset-password#'))
  await identity.browser().call('resetPassword', { token: tokenIn(reset ?? ''), password: PASSWORD })
  const verification = texts.find((text) => text.includes('/verify-email#'))
  await identity.browser().call('verifyEmail', { token: tokenIn(verification ?? '') })
  await deleteExpired(database.worker, identity.nowMs() + MONTH_MS)
}

const tokenIn = (text: string) => /#(\S+)/.exec(text)?.[1] ?? ''
