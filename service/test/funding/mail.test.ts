import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkBalances, upsertAlert } from '../../src/funding/balance-alert.ts'
import { notifyPeople } from '../../src/operations/notify-people.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { systemClock as clock } from '../../src/platform/clock.ts'
import { inAccount } from '../../src/platform/database/account-scope.ts'
import { sql } from '../../src/platform/database/db.ts'
import { chooseMail } from '../../src/sessions/mail-choices.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { sendDueMail } from '../../testing/send-mail.ts'
import { testKeyring } from '../../testing/shop.ts'

let database: TestDatabase
const keyring = testKeyring()
const sent: { to: string; subject: string; text: string; html: string }[] = []
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

async function sendAll() {
  sent.length = 0
  await sendDueMail({ db: database.worker, keyring, send: async (mail) => void sent.push(mail) })
  return sent.map(({ to, subject }) => [to, subject]).sort()
}

async function join(account_id: string, id: string, role: string, is_verified = true) {
  const now = new Date()
  await database.owner.run(sql`
    insert into people (id, name, email, email_verified, created_at, updated_at)
    values (${id}, ${id}, ${`${id}@example.com`}, ${is_verified}, ${now}, ${now})
        on conflict do nothing`)
  await database.owner.run(sql`
    insert into memberships (account_id, person_id, role, created_at)
    values (${account_id}, ${id}, ${role}, ${now})`)
}

const operator = () =>
  createOperator(
    { db: database.operator, keyring, clock, cell: 'c1', admission: async () => ({}) as never },
    'test',
  )

test('threat 74: the mail of an alert goes to chosen members and to other addresses that have confirmed, once each, and the name of the account to members only', async () => {
  const { id: account_id } = await operator().createAccount('Acme Bots')
  await join(account_id, 'olga', 'owner')
  await join(account_id, 'dev', 'developer')
  await join(account_id, 'new', 'viewer', false)
  await inAccount(database.dashboard, account_id, async (tx) => {
    await upsertAlert(tx, { account_id, threshold_cents: 100, updated_at: new Date() })
    await chooseMail(tx, account_id, 'balance_alert', ({ person_id }) => person_id !== 'dev')
  })
  await database.asOwner(`
    insert into alert_addresses (account_id, email, token_hash, asked_at, confirmed_at)
    values ('${account_id}', 'finance@example.com', null, now(), now()),
           ('${account_id}', 'olga@example.com', null, now(), now()),
           ('${account_id}', 'stranger@example.com', sha256('token'), now(), null)`)
  await checkBalances({ db: database.worker, clock, notify: notifyPeople(keyring, clock) })
  expect(await sendAll()).toEqual([
    ['finance@example.com', `Balance of ${account_id} is below $1.00: $0.00`],
    ['olga@example.com', 'Balance of Acme Bots is below $1.00: $0.00'],
  ])
  for (const { to, text, html } of sent) {
    expect(text).toContain('Your threshold: $1.00')
    expect(text.includes('This address was confirmed')).toBe(to === 'finance@example.com')
    expect(`${text}${html}`.includes('Acme')).toBe(to === 'olga@example.com')
  }
})

test('mail that nobody has chosen goes to owners and finance; nothing is sent when the transaction fails', async () => {
  const { worker } = database
  const { id: account_id } = await operator().createAccount('Other')
  await join(account_id, 'olga', 'owner')
  await join(account_id, 'fin', 'finance')
  await join(account_id, 'view', 'viewer')
  const notify = notifyPeople(keyring, clock)
  await worker.transaction((tx) => notify(tx, account_id, 'reversal', { subject: 'News' }))
  const failed = worker.transaction(async (tx) => {
    await notify(tx, account_id, 'reversal', { subject: 'Never' })
    throw new Error('rolled back')
  })
  await expect(failed).rejects.toThrow('rolled back')
  expect(await sendAll()).toEqual([
    ['fin@example.com', 'News'],
    ['olga@example.com', 'News'],
  ])
})
