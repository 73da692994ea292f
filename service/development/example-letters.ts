import { createdMail, revokedMail, rotatedMail, tokenMail } from '../src/dashboard/keys/key-mails.ts'
import { linkRevealedMail } from '../src/dashboard/orders/orders.ts'
import { withActor } from '../src/dashboard/team/mail-owners.ts'
import * as webhook from '../src/dashboard/webhooks/webhook-mails.ts'
import * as money from '../src/funding/letters.ts'
import { closedLetter } from '../src/operations/actions/close-account.ts'
import { type Letter, renderText, subjectOf } from '../src/platform/mail/letter.ts'
import { renderHtml } from '../src/platform/mail/letter-html.ts'
import * as people from '../src/sessions/mails.ts'
import { failingLetter, givenUpLetter } from '../src/webhooks/notices.ts'

/** Where all of their links lead. */
export const EXAMPLE_ORIGIN = 'https://dashboard.shop.example'
const AT_MS = Date.parse('2026-03-02T09:41:07Z')
const TOKEN = 'acct_01khx5w3t9m8q2b4c6d7e8f9ga-Vb1x0pYk3mQf7RrT2sUzW5nLc8dHgJ6aEoKiN4tXwMy'
const WEBHOOK_URL = 'https://acme.example/hook'
const LINK = (page: string) => `${EXAMPLE_ORIGIN}/${page}#${TOKEN}`

/**
 * Every letter that the service sends, under the name of the function that writes it: for tests, and for looking at them. Names that
 * people choose are given to `named` first.
 */
export function exampleLetters(named = (usual: string) => usual): Readonly<Record<string, Letter>> {
  const [account, person] = [
    { id: 'acct_01khx5w3t9m8q2b4c6d7e8f9ga', name: named('Acme Bots') },
    named('Ada Lovelace'),
  ]
  const top_up = {
    reference: 'RF20SW74120983456712',
    provider: 'stripe',
    amount_cents: 1_200_00,
    created_by_name: person,
  } as const
  const burn = { days: 14, per_day_cents: 63_20, days_left: 3 }
  const balance = { balance_cents: 212_40, threshold_cents: 250_00, burn }
  const reversal = {
    kind: 'dispute',
    amount_cents: 1_000_00,
    taken_cents: 300_00,
    owed_cents: 700_00,
  } as const
  const key = {
    id: 'key_01khx5w3t9m8q2b4c6d7e8f9gb',
    name: named('checkout-eu'),
    scopes: ['catalogue:read', 'orders:read', 'orders:write'],
  }
  const token = {
    name: named('Laptop'),
    rights: ['events:listen'],
    with_links: true,
    expires_at: new Date(AT_MS + 30 * 86_400_000),
  } as const
  const actor = { person_name: person, email: 'ada@acme.example', address: '192.0.2.7' }
  const acted = (letter: Letter) => withActor(letter, actor, AT_MS)
  const invitation = { account_name: account.name, role: 'developer', inviter_name: person } as const
  return {
    creditedLetter: money.creditedLetter(account, top_up, 1_000_00, 1_212_40),
    reversedLetter: money.reversedLetter(
      account,
      top_up,
      { ...reversal, kind: 'refund', taken_cents: 1_000_00, owed_cents: 0 },
      212_40,
    ),
    'reversedLetter, owed': money.reversedLetter(account, top_up, reversal, 0),
    returnedLetter: money.returnedLetter(account, top_up, 'dispute', 300_00),
    'alertLetter, approaching': money.alertLetter(account, 'approaching', {
      ...balance,
      balance_cents: 371_00,
    }),
    'alertLetter, below': money.alertLetter(account, 'below', balance),
    'alertLetter, recovered': money.alertLetter(account, 'recovered', { ...balance, balance_cents: 900_00 }),
    alertLetterToOthers: money.alertLetterToOthers(account, 'below', balance),
    closedLetter: closedLetter(account, named('the contract has ended')),
    createdMail: acted(createdMail(key)),
    rotatedMail: acted(rotatedMail(key, 'key_01khx5w3t9m8q2b4c6d7e8f9gc')),
    revokedMail: acted(revokedMail(key)),
    tokenMail: acted(tokenMail(token)),
    linkRevealedMail: acted(linkRevealedMail('ord_01khx5w3t9m8q2b4c6d7e8f9gd', 2, named('Gift card 50'))),
    urlMail: acted(
      webhook.urlMail({ webhook_url: 'https://old.acme.example/hook', pending: 3 }, WEBHOOK_URL),
    ),
    stoppedMail: acted(webhook.stoppedMail({ pending: 3 })),
    'rotatedMail, webhook': acted(webhook.rotatedMail()),
    endedMail: acted(webhook.endedMail('h7Qd')),
    failingLetter: failingLetter(account.name, WEBHOOK_URL, { percent: 90, attempts: 20 }),
    givenUpLetter: givenUpLetter(account.name, WEBHOOK_URL, { event_id: 'evt_01khx5w3t9m8q2b4c6d7e8f9ge' }),
    teamMail: acted(
      people.teamMail('Ada Lovelace invited grace@acme.example as developer.', account.name, EXAMPLE_ORIGIN),
    ),
    invitationMail: people.invitationMail(LINK('invitation'), invitation),
    operatorInvitationMail: people.operatorInvitationMail(LINK('invitation')),
    resetMail: people.resetMail(LINK('reset-password')),
    verificationMail: people.verificationMail(LINK('verify-email')),
    alertAddressMail: people.alertAddressMail(LINK('confirm-alerts')),
    securityMail: people.securityMail('A passkey was added to your sign-in.', EXAMPLE_ORIGIN, '192.0.2.7'),
  }
}

/** As they are sent. */
export const exampleMails = () =>
  Object.entries(exampleLetters()).map(([name, letter]) => ({
    name,
    subject: subjectOf(letter),
    text: renderText(letter),
    html: renderHtml(letter),
  }))

if (import.meta.main) process.stdout.write(`${JSON.stringify(exampleMails())}\n`)
