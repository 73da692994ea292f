import { type ChosenMail, mailRoutes, type Role } from '@shopwire/contract/dashboard'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemberAct } from '../../src/dashboard/act.ts'
import type { Member } from '../../src/dashboard/member.ts'
import { mailArea } from '../../src/dashboard/team/mail.ts'
import { notifyPeople } from '../../src/operations/notify-people.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { callAs, memberOf, signIn } from '../../testing/member.ts'
import { sendDueMail } from '../../testing/send-mail.ts'
import { testKeyring } from '../../testing/shop.ts'

const keyring = testKeyring()
let database: TestDatabase
let area: ReturnType<typeof mailArea>
beforeAll(async () => {
  database = await openTestDatabase()
  const db = database.dashboard
  area = mailArea({ db, act: createMemberAct(db, systemClock) })
})
afterAll(() => database.close())

let accounts = 0
/** Members of a new account by name, with addresses that they have confirmed. */
async function openAccount<Name extends string>(team: Readonly<Record<Name, Role>>) {
  accounts += 1
  const account_id = `acct_${accounts}`
  await database.asOwner(
    `insert into accounts (id, name, created_at) values ('${account_id}', 'Mail', now())`,
  )
  const members = {} as Record<Name, Member>
  for (const name of Object.keys(team) as Name[]) {
    const facts = { person_id: `${name}_${accounts}`, person_name: name, role: team[name] }
    members[name] = await signIn(database, memberOf(account_id, facts))
  }
  await database.asOwner('update people set email_verified = true')
  return { account_id, ...members }
}
const choose = (member: Member, kind: ChosenMail, is_on: boolean) =>
  callAs(member, area.setOwnMail, { body: { kind, is_on } })
const chooseFor = (member: Member, { person_id }: Member, kind: ChosenMail, is_on: boolean) =>
  callAs(member, area.setMemberMail, { body: { person_id, kind, is_on } })
const kindIn = async (member: Member, kind: string) =>
  (await callAs(member, area.getMailPreferences)).kinds.find((one) => one.kind === kind)
const refused = (type: string, message = '') =>
  expect.objectContaining({ name: 'Refusal', type, message: expect.stringContaining(message) })

/** Who gets a mail of this kind that a worker sends now. */
async function readers(account_id: string, kind: ChosenMail) {
  const notify = notifyPeople(keyring, systemClock)
  await database.worker.transaction((tx) => notify(tx, account_id, kind, { subject: 'News' }))
  const to: string[] = []
  await sendDueMail({ db: database.worker, keyring, send: async (mail) => void to.push(mail.to) })
  return to.map((email) => email.split('_')[0]).sort()
}

test('until somebody chooses, each role gets what it works with; what protects the account goes to every owner', async () => {
  const { account_id, ola, dev, fin, eye } = await openAccount({
    ola: 'owner',
    dev: 'developer',
    fin: 'finance',
    eye: 'viewer',
  })
  const { members, kinds } = await callAs(eye, area.getMailPreferences)
  expect(members.map(({ person_id, is_you }) => [person_id, is_you])).toEqual([
    [ola.person_id, false],
    [dev.person_id, false],
    [fin.person_id, false],
    [eye.person_id, true],
  ])
  const [owner, builder, treasurer] = [ola, dev, fin].map(({ person_id }) => person_id)
  expect(kinds.map(({ kind, can_choose, goes_to }) => [kind, can_choose, goes_to])).toEqual([
    ['balance_alert', true, [owner, treasurer]],
    ['top_up', true, [owner, treasurer]],
    ['reversal', true, [owner, treasurer]],
    ['webhook_trouble', true, [owner, builder]],
    ['account_security', false, [owner]],
    ['own_sign_in', false, null],
    ['invitation', false, null],
    ['account_closed', false, [owner]],
  ])
  expect(await readers(account_id, 'reversal')).toEqual(['fin', 'ola'])
  expect(await readers(account_id, 'webhook_trouble')).toEqual(['dev', 'ola'])
})

test('members turn kinds on and off for themselves, owners for others too, each with an audit row', async () => {
  const { account_id, ola, fin, eye } = await openAccount({ ola: 'owner', fin: 'finance', eye: 'viewer' })
  await choose(fin, 'reversal', false)
  await choose(eye, 'reversal', true)
  expect(await readers(account_id, 'reversal')).toEqual(['eye', 'ola'])
  await chooseFor(ola, fin, 'reversal', true)
  const { kinds } = await chooseFor(ola, eye, 'reversal', false)
  expect(kinds.find(({ kind }) => kind === 'reversal')?.goes_to).toEqual([ola.person_id, fin.person_id])
  expect(await readers(account_id, 'reversal')).toEqual(['fin', 'ola'])
  expect(await readers(account_id, 'top_up')).toEqual(['fin', 'ola'])
  const audit = await database.owner.many(
    sql`select actor, action, target, details from audit_log where account_id = ${account_id} order by id`,
  )
  const [owner, treasurer, viewer] = [ola, fin, eye].map(({ person_id }) => person_id)
  const row = (actor = '', target = '', is_on = false) => ({
    actor: `person:${actor}`,
    action: 'mail.choose',
    target,
    details: { before: { reversal: !is_on }, after: { reversal: is_on } },
  })
  expect(audit).toMatchObject([
    row(treasurer, treasurer, false),
    row(viewer, viewer, true),
    row(owner, treasurer, true),
    row(owner, viewer, false),
  ])
})

test('the last owner who gets a kind cannot turn it off, whoever else gets it, and is told what to do', async () => {
  const { ola, oli, fin } = await openAccount({ ola: 'owner', oli: 'owner', fin: 'finance' })
  await choose(ola, 'reversal', false)
  const sentence =
    'At least one owner gets the mail "Money taken back", and no other owner does. Nothing was changed.'
  await expect(choose(oli, 'reversal', false)).rejects.toEqual(refused('conflict', sentence))
  await expect(chooseFor(ola, oli, 'reversal', false)).rejects.toEqual(refused('conflict', sentence))
  expect((await kindIn(fin, 'reversal'))?.goes_to).toEqual([oli.person_id, fin.person_id])
  await choose(ola, 'reversal', true)
  await choose(oli, 'reversal', false)
})

test('two owners who turn the same kind off at the same time: one is refused, and one still gets it', async () => {
  for (const kind of ['top_up', 'webhook_trouble'] as const) {
    const { account_id, ola, oli } = await openAccount({ ola: 'owner', oli: 'owner' })
    const both = await Promise.allSettled([choose(ola, kind, false), chooseFor(ola, oli, kind, false)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await readers(account_id, kind)).toHaveLength(1)
  }
})

test('when the only owner who gets a kind has left or is one no more, the other owners get it whatever they chose', async () => {
  const { account_id, ola, oli, fin } = await openAccount({ ola: 'owner', oli: 'owner', fin: 'finance' })
  await choose(ola, 'reversal', false)
  await database.asOwner(`update memberships set role = 'viewer' where person_id = '${oli.person_id}'`)
  expect(await readers(account_id, 'reversal')).toEqual(['fin', 'ola'])
  expect((await kindIn(fin, 'reversal'))?.goes_to).toEqual([ola.person_id, fin.person_id])
})

test('threat 74: low balance and webhook trouble wait for a confirmed address; a choice ends with the membership', async () => {
  const { account_id, ola, fin } = await openAccount({ ola: 'owner', fin: 'finance' })
  await database.asOwner(`update people set email_verified = false where id = '${fin.person_id}'`)
  await choose(fin, 'webhook_trouble', true)
  expect(await kindIn(ola, 'webhook_trouble')).toMatchObject({
    goes_to: [ola.person_id],
    waits_for: [fin.person_id],
  })
  for (const kind of ['balance_alert', 'webhook_trouble'] as const)
    expect(await readers(account_id, kind)).toEqual(['ola'])
  await database.asOwner(`
    delete from memberships where person_id = '${fin.person_id}';
    update people set email_verified = true`)
  await signIn(database, fin)
  expect(await kindIn(ola, 'webhook_trouble')).toMatchObject({ goes_to: [ola.person_id], waits_for: [] })
})

test('says that low-balance mail is not sent without a threshold, and which confirmed addresses outside get it', async () => {
  const { account_id, ola } = await openAccount({ ola: 'owner' })
  expect(await kindIn(ola, 'balance_alert')).toMatchObject({ is_sent: false, addresses: [] })
  await database.asOwner(`
    insert into balance_alerts (account_id, threshold_cents, updated_at) values ('${account_id}', 100, now());
    insert into alert_addresses (account_id, email, token_hash, asked_at, confirmed_at)
    values ('${account_id}', 'books@elsewhere.example', null, now(), now()),
           ('${account_id}', 'stranger@elsewhere.example', sha256('token'), now(), null)`)
  expect(await kindIn(ola, 'balance_alert')).toMatchObject({
    is_sent: true,
    addresses: ['books@elsewhere.example'],
  })
})

test('of what protects the account and sign-ins nothing can be chosen, and for others only owners choose, with a second factor', async () => {
  const ajv = new Ajv()
  const [, own, others] = mailRoutes
  for (const kind of ['account_security', 'own_sign_in', 'invitation', 'account_closed', 'anything'])
    expect([kind, ajv.validate(own.body, { kind, is_on: false })]).toEqual([kind, false])
  expect(others).toMatchObject({ access: ['owner'], isStepUp: true })
})
