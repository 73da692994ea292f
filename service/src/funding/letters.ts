import type { Burn } from '../ledger/statement.ts'
import type { Fact, Letter } from '../platform/mail/letter.ts'
import { dollars } from '../platform/text/format.ts'
import { isolated } from '../platform/text/plain-text.ts'
import type { TopUp } from './queries.ts'
import { printReference } from './reference.ts'

/** The mails about money. They carry no link to follow: a mail that asks for a click teaches people to click. */

const WHERE = 'Open the dashboard by its usual address and choose Balance.'

const topUpFact = ({ reference }: Pick<TopUp, 'reference'>): Fact => ['Top-up', printReference(reference)]

export function creditedLetter(
  account: { readonly name: string },
  top_up: Pick<TopUp, 'reference' | 'provider' | 'amount_cents' | 'created_by_name'>,
  credited_cents: number,
  balance_cents: number,
): Letter {
  const by = top_up.provider === 'bank' ? 'bank transfer' : 'card'
  const says = `added to the balance of ${isolated(account.name)}`
  return {
    subject: `${dollars(credited_cents)} ${says}`,
    headline: { amount_cents: credited_cents, says },
    paragraphs: [
      `The top-up by ${by} was credited.`,
      ...(credited_cents === top_up.amount_cents
        ? []
        : [`${dollars(top_up.amount_cents)} were requested; the amount that arrived was credited.`]),
    ],
    facts: [
      ['Balance now', dollars(balance_cents)],
      topUpFact(top_up),
      ['Requested by', isolated(top_up.created_by_name)],
    ],
    footer: [WHERE],
  }
}

export function reversedLetter(
  account: { readonly name: string },
  top_up: Pick<TopUp, 'reference'>,
  reversal: { kind: 'refund' | 'dispute'; amount_cents: number; taken_cents: number; owed_cents: number },
  balance_cents: number,
): Letter {
  const { kind, amount_cents, taken_cents, owed_cents } = reversal
  const name = isolated(account.name)
  const what =
    kind === 'refund'
      ? 'The payment was refunded to the card.'
      : 'The holder of the card disputed the payment, and the bank took the money back.'
  const facts: readonly Fact[] = [
    ['Taken back', `${dollars(taken_cents)} of ${dollars(amount_cents)}`],
    ['Balance now', dollars(balance_cents)],
    topUpFact(top_up),
  ]
  if (owed_cents === 0) {
    const says = `taken back from the balance of ${name}`
    return {
      subject: `${dollars(amount_cents)} ${says}`,
      headline: { amount_cents, says },
      paragraphs: [what],
      facts,
      footer: [WHERE],
    }
  }
  return {
    subject: `${name} is suspended: ${dollars(owed_cents)} are owed`,
    headline: { amount_cents: owed_cents, says: `are owed by ${name}, which is suspended` },
    paragraphs: [
      what,
      `${dollars(owed_cents)} had been spent already and are owed. The account is suspended: its API requests get 403 until the store ` +
        'resumes it. The next top-up pays what is owed first.',
      'Answer this mail or contact the store to settle it.',
    ],
    facts: [['Owed', dollars(owed_cents)], ...facts],
    footer: [WHERE],
  }
}

export function returnedLetter(
  account: { readonly name: string },
  top_up: Pick<TopUp, 'reference'>,
  kind: 'refund' | 'dispute',
  returned_cents: number,
): Letter {
  const says = `returned to the balance of ${isolated(account.name)}`
  return {
    subject: `${dollars(returned_cents)} ${says}`,
    headline: { amount_cents: returned_cents, says },
    paragraphs: [
      kind === 'refund'
        ? 'A refund of a top-up did not reach the card: the bank sent it back.'
        : 'The dispute about a top-up was decided for the store.',
      'An account that was suspended over it stays suspended until the store resumes it.',
    ],
    facts: [topUpFact(top_up)],
    footer: [WHERE],
  }
}

export function alertLetter(
  account: { readonly name: string },
  step: 'approaching' | 'below' | 'recovered',
  { balance_cents, threshold_cents, burn }: { balance_cents: number; threshold_cents: number; burn: Burn },
): Letter {
  const [balance, threshold, name] = [
    dollars(balance_cents),
    dollars(threshold_cents),
    isolated(account.name),
  ]
  const steps = {
    approaching: {
      subject: `Balance of ${name} is getting low: ${balance}`,
      says: `left on the balance of ${name}, which is getting low`,
      what: 'This mail comes at one and a half times your threshold.',
    },
    below: {
      subject: `Balance of ${name} is below ${threshold}: ${balance}`,
      says: `left on the balance of ${name}, which is below your threshold`,
      what: 'Orders that cost more than the balance get 402 and buy nothing.',
    },
    recovered: {
      subject: `Balance of ${name} has recovered: ${balance}`,
      says: `on the balance of ${name}, which has recovered`,
      what: 'That is at least twice your threshold.',
    },
  }
  const { subject, says, what } = steps[step]
  return {
    subject,
    headline: { amount_cents: balance_cents, says },
    paragraphs: [what, lasts(burn), step === 'recovered' ? WHERE : `To add funds: ${WHERE}`],
    facts: [['Your threshold', threshold]],
    footer: ['There is one mail for each step: getting low, below, recovered.'],
  }
}

/**
 * For addresses outside the team: with the account's id instead of its name, because the account may change its name at any time to
 * any text, including a message to the recipient.
 */
export function alertLetterToOthers(
  { id }: { readonly id: string },
  ...[step, facts]: [Parameters<typeof alertLetter>[1], Parameters<typeof alertLetter>[2]]
): Letter {
  const { footer = [], ...letter } = alertLetter({ name: id }, step, facts)
  const why =
    'This address was confirmed for these mails. The people who manage the account can remove it there.'
  return { ...letter, footer: [...footer, why] }
}

function lasts({ days, per_day_cents, days_left }: Burn): string {
  if (days_left === null) return 'Nothing was spent lately, so it is not running out.'
  const average = days === 1 ? 'what was spent in the last day' : `the average of the last ${days} days`
  const left =
    days_left === 0 ? 'less than a day' : days_left === 1 ? 'about 1 day' : `about ${days_left} days`
  return `At ${dollars(per_day_cents)} a day, ${average}, it lasts ${left}.`
}
