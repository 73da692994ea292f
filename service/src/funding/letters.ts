import type { Burn } from '../ledger/statement.ts'
import { dollars, type Letter } from './notify.ts'
import type { TopUp } from './queries.ts'
import { printReference } from './reference.ts'

/** The mails about money. They carry no link to follow: a mail that asks for a click teaches people to click. */

const WHERE = 'Open the dashboard by its usual address and choose Balance.'

export function creditedLetter(
  account: { readonly name: string },
  top_up: TopUp,
  credited_cents: number,
  balance_cents: number,
): Letter {
  const by = top_up.provider === 'bank' ? 'bank transfer' : 'card'
  return {
    subject: `${dollars(credited_cents)} added to the balance of ${account.name}`,
    text: [
      `The top-up ${printReference(top_up.reference)} by ${by} was credited: ${dollars(credited_cents)}.`,
      ...(credited_cents === top_up.amount_cents
        ? []
        : [`${dollars(top_up.amount_cents)} were requested; the amount that arrived was credited.`]),
      `The balance is now ${dollars(balance_cents)}.`,
      '',
      `${top_up.created_by_name} requested it. ${WHERE}`,
    ].join('\n'),
  }
}

export function reversedLetter(
  account: { readonly name: string },
  top_up: TopUp,
  reversal: { kind: 'refund' | 'dispute'; amount_cents: number; taken_cents: number; owed_cents: number },
  balance_cents: number,
): Letter {
  const what =
    reversal.kind === 'refund'
      ? 'The payment was refunded to the card.'
      : 'The holder of the card disputed the payment, and the bank took the money back.'
  const isOwed = reversal.owed_cents > 0
  return {
    subject: isOwed
      ? `${account.name} is suspended: ${dollars(reversal.owed_cents)} are owed`
      : `${dollars(reversal.amount_cents)} taken back from the balance of ${account.name}`,
    text: [
      `About the top-up ${printReference(top_up.reference)}: ${what}`,
      `${dollars(reversal.taken_cents)} of ${dollars(reversal.amount_cents)} were taken from the balance, which is now ${dollars(balance_cents)}.`,
      ...(isOwed
        ? [
            `${dollars(reversal.owed_cents)} had been spent already and are owed. The account is suspended: its API requests get 403 until ` +
              'the store resumes it. The next top-up pays what is owed first.',
            'Answer this mail or contact the store to settle it.',
          ]
        : []),
      '',
      WHERE,
    ].join('\n'),
  }
}

export function returnedLetter(
  account: { readonly name: string },
  top_up: TopUp,
  kind: 'refund' | 'dispute',
  returned_cents: number,
): Letter {
  const what =
    kind === 'refund'
      ? `A refund of the top-up ${printReference(top_up.reference)} did not reach the card: the bank sent it back.`
      : `The dispute about the top-up ${printReference(top_up.reference)} was decided for the store.`
  return {
    subject: `${dollars(returned_cents)} returned to the balance of ${account.name}`,
    text: [
      `${what} ${dollars(returned_cents)} are back on the balance.`,
      'An account that was suspended over it stays suspended until the store resumes it.',
      '',
      WHERE,
    ].join('\n'),
  }
}

export function alertLetter(
  account: { readonly name: string },
  step: 'approaching' | 'below' | 'recovered',
  { balance_cents, threshold_cents, burn }: { balance_cents: number; threshold_cents: number; burn: Burn },
): Letter {
  const subjects = {
    approaching: `Balance of ${account.name} is getting low: ${dollars(balance_cents)}`,
    below: `Balance of ${account.name} is below ${dollars(threshold_cents)}: ${dollars(balance_cents)}`,
    recovered: `Balance of ${account.name} has recovered: ${dollars(balance_cents)}`,
  }
  const facts = {
    approaching: `The balance is ${dollars(balance_cents)}. Your threshold is ${dollars(threshold_cents)}; this mail comes at one and a half times that.`,
    below: `The balance is ${dollars(balance_cents)}, and your threshold is ${dollars(threshold_cents)}. Orders that cost more than the balance get 402 and buy nothing.`,
    recovered: `The balance is ${dollars(balance_cents)}, at least twice your threshold of ${dollars(threshold_cents)}.`,
  }
  return {
    subject: subjects[step],
    text: [
      facts[step],
      lasts(burn),
      '',
      step === 'recovered' ? WHERE : `To add funds: ${WHERE}`,
      'There is one mail for each step: getting low, below, recovered.',
    ].join('\n'),
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
  const { subject, text } = alertLetter({ name: id }, step, facts)
  const why =
    'This address was confirmed for these mails. The people who manage the account can remove it there.'
  return { subject, text: `${text}\n${why}` }
}

function lasts({ days, per_day_cents, days_left }: Burn): string {
  if (days_left === null) return 'Nothing was spent lately, so it is not running out.'
  const average = days === 1 ? 'what was spent in the last day' : `the average of the last ${days} days`
  const left =
    days_left === 0 ? 'less than a day' : days_left === 1 ? 'about 1 day' : `about ${days_left} days`
  return `At ${dollars(per_day_cents)} a day, ${average}, it lasts ${left}.`
}
