import { dashboardRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemberAct } from '../../src/dashboard/act.ts'
import type { Member } from '../../src/dashboard/member.ts'
import { alertAddressArea } from '../../src/dashboard/money/alert-addresses.ts'
import { ALERT_LINK_VALID_MS } from '../../src/funding/alert-addresses.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { ORIGIN, openIdentity, type TestIdentity } from '../../testing/identity.ts'
import { callAs, memberOf, signIn } from '../../testing/member.ts'
import { sendDueMail } from '../../testing/send-mail.ts'

const NAME = 'URGENT: your parcel is held, pay at evil.example/pay'
const DAY_MS = 86_400_000

let identity: TestIdentity
let area: ReturnType<typeof alertAddressArea>
beforeAll(async () => {
  identity = await openIdentity()
  const { database, keyring, sessions } = identity
  const act = createMemberAct(database.dashboard, systemClock)
  area = alertAddressArea({ act, keyring, origin: ORIGIN, attempts: sessions.attempts })
})
afterAll(() => identity.close())

let people = 0
async function newTreasurer(account_id?: string): Promise<Member> {
  people += 1
  const account = account_id ?? (await identity.newAccount(NAME))
  const facts = { person_id: `person_${people}`, person_name: NAME, role: 'finance' as const }
  return signIn(identity.database, memberOf(account, facts))
}

const add = (member: Member, email: string) =>
  callAs(member, area.addAlertAddress, { body: { email }, nowMs: identity.nowMs() })
const remove = (member: Member, email: string) => callAs(member, area.removeAlertAddress, { body: { email } })

/** What has been sent since the last call. */
async function mails() {
  const sent: { to: string; subject: string; text: string }[] = []
  await sendDueMail({
    db: identity.database.worker,
    keyring: identity.keyring,
    send: async (mail) => void sent.push(mail),
  })
  return sent
}

const linkIn = (text = '') => /#(\S+)/.exec(text)?.[1] ?? ''
const typeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { type?: string }) => error.type,
  )
const confirm = (token: string) => identity.browser().call('confirmAlertAddress', { token })

test('threat 74: an address is asked in our words alone, and is confirmed by the link, once', async () => {
  const member = await newTreasurer()
  const added = await add(member, 'Books@Elsewhere.Example')
  expect(added.addresses).toMatchObject([{ email: 'books@elsewhere.example', is_confirmed: false }])
  const [mail, ...more] = await mails()
  expect(more).toEqual([])
  expect(mail?.to).toBe('books@elsewhere.example')
  expect(mail?.subject).toBe('Confirm this address for Shopwire balance mails')
  expect(JSON.stringify(mail)).not.toMatch(/URGENT|parcel|evil/)
  expect(mail?.text.match(/https?:\S+/g)).toEqual([`${ORIGIN}/confirm-alerts#${linkIn(mail?.text)}`])

  expect(await confirm(linkIn(mail?.text))).toEqual({ email: 'books@elsewhere.example' })
  expect(await typeOf(confirm(linkIn(mail?.text)))).toBe('link_invalid')
  expect(await typeOf(add(member, 'books@elsewhere.example'))).toBe('conflict')
  expect(await mails()).toEqual([])
  expect((await remove(member, 'books@elsewhere.example')).addresses).toEqual([])
})

test('threat 74: a link no longer works when a newer one was mailed, when the address was removed, and after a week', async () => {
  const member = await newTreasurer()
  await add(member, 'one@elsewhere.example')
  const first = linkIn((await mails())[0]?.text)
  await add(member, 'one@elsewhere.example')
  const second = linkIn((await mails())[0]?.text)
  expect(await typeOf(confirm(first))).toBe('link_invalid')
  await remove(member, 'one@elsewhere.example')
  expect(await typeOf(confirm(second))).toBe('link_invalid')
  expect(await typeOf(remove(member, 'one@elsewhere.example'))).toBe('not_found')
  await add(member, 'two@elsewhere.example')
  const late = linkIn((await mails())[0]?.text)
  const foreign = late.replace(member.account_id, (await newTreasurer()).account_id)
  expect(await typeOf(confirm(foreign))).toBe('link_invalid')
  identity.passMs(ALERT_LINK_VALID_MS)
  expect(await typeOf(confirm(late))).toBe('link_invalid')
})

test('threat 74: an address is asked three times a day at most, whichever accounts ask, also when it is removed in between', async () => {
  const members = [await newTreasurer(), await newTreasurer()] as const
  const outcomes = []
  for (let n = 0; n < 6; n += 1) {
    const member = members[n % 2] as Member
    outcomes.push(await typeOf(add(member, 'victim@elsewhere.example')))
    await remove(member, 'victim@elsewhere.example').catch(() => {})
  }
  expect(outcomes).toEqual(['done', 'done', 'done', ...Array(3).fill('too_many_attempts')])
  expect(await mails()).toHaveLength(3)
  identity.passMs(DAY_MS)
  expect(await typeOf(add(members[0], 'victim@elsewhere.example'))).toBe('done')
})

test('threat 74: an account has five addresses at most, and asks twenty times a day', async () => {
  const member = await newTreasurer()
  const outcomes = []
  for (let n = 0; n < 6; n += 1) outcomes.push(await typeOf(add(member, `many${n}@elsewhere.example`)))
  expect(outcomes).toEqual([...Array(5).fill('done'), 'conflict'])
  for (let n = 6; n < 30; n += 1) {
    await remove(member, `many${n - 6}@elsewhere.example`).catch(() => {})
    outcomes.push(await typeOf(add(member, `many${n}@elsewhere.example`)))
  }
  expect(outcomes.filter((one) => one === 'too_many_attempts')).toHaveLength(10)
  expect((await mails()).length).toBeLessThanOrEqual(20)
})

test('a member is chosen among the members, and not asked by mail', async () => {
  const member = await newTreasurer()
  const other = await newTreasurer(member.account_id)
  expect(await typeOf(add(member, `${other.person_id}@example.com`))).toBe('conflict')
  expect(await mails()).toEqual([])
})

test('asking an address needs a second factor given lately, and a role that may pay', () => {
  const route = dashboardRoutes.find(({ name }) => name === 'addAlertAddress')
  expect(route).toMatchObject({ isStepUp: true, access: ['owner', 'finance'] })
})
