import type { Command } from 'commander'
import type { TopUp } from '../../funding/queries.ts'
import type { OperatorReads } from '../../operations/reads/index.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDollars, parseLimit, parseText } from '../terminal/parse.ts'
import { day, describeCollected, dollars, print, table } from '../terminal/print.ts'

export function topUpCommands(program: Command, context: CommandContext): void {
  const topUps = program.command('topups').description('money that customers want to add, and what they owe')

  topUps
    .command('list')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('top-ups that wait for their money or for a decision, and payments that need a decision')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const shown = await context.reads().listTopUps(limit)
      print(command, context, shown, () =>
        [
          table(
            ['TOP-UP', 'CREATED', 'STATE', 'BY', 'AMOUNT', 'REFERENCE', 'ACCOUNT', 'NOTE'],
            shown.top_ups.map(row),
            'No top-up is waiting.',
          ),
          ...(shown.reviews.length === 0
            ? []
            : [
                '',
                table(
                  ['REVIEW', 'SINCE', 'PAYMENT', 'WHY IT NEEDS A DECISION'],
                  shown.reviews.map((review) => [
                    review.id,
                    day(review.found_at),
                    review.subject,
                    review.note,
                  ]),
                  '',
                ),
              ]),
        ].join('\n'),
      )
    })

  topUps
    .command('confirm')
    .argument('<top-up>', 'its id, or the reference that the customer quoted')
    .requiredOption('--amount <dollars>', 'what arrived, such as 250.00; it may differ', parseDollars)
    .requiredOption(
      '--reference <text>',
      "the bank's own name for the payment; the same one twice is booked once",
    )
    .option('--although-taken-back', 'credit a card payment of which the provider has taken some back')
    .description('the money has arrived: credit it')
    .action(
      async (
        named: string,
        options: { amount: number; reference: string; althoughTakenBack?: true },
        command: Command,
      ) => {
        const { amount: amount_cents, reference, althoughTakenBack: although_taken_back } = options
        const confirmed = { amount_cents, reference, although_taken_back }
        const credited = await context.operator().confirmTopUp(named, confirmed)
        print(command, context, credited, () =>
          [
            `${credited.isNew ? 'Credited' : 'Already credited, nothing moved:'} ${dollars(credited.credited_cents)} to ` +
              `${credited.top_up.account_id} as ${credited.transfer_id}; balance ${dollars(credited.balance_cents)}.`,
            ...(credited.collected_cents > 0 ? [describeCollected(credited.collected_cents)] : []),
          ].join('\n'),
        )
      },
    )

  topUps
    .command('reject')
    .argument('<top-up>', 'its id, or the reference that the customer quoted')
    .requiredOption('--reason <text>', 'shown to the customer', parseText)
    .description('nothing will be credited for it')
    .action(async (named: string, { reason }: { reason: string }, command: Command) => {
      const rejected = await context.operator().rejectTopUp(named, reason)
      print(command, context, rejected, () => `Rejected ${rejected.id} of ${rejected.account_id}.`)
    })

  topUps
    .command('decided')
    .argument('<review>', 'from "topups list"')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('mark a payment as decided once it has been dealt with; books nothing')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const decided = await context.operator().decideReview(id, reason)
      print(command, context, decided, () => `Decided: ${decided.subject}. ${decided.note}.`)
    })

  topUps
    .command('reconcile')
    .option('--now', 'do not wait until it is due')
    .description('compare all card money with the payment provider, and show the progress')
    .action(async ({ now }: { now?: true }, command: Command) => {
      if (now) await context.operator().reconcilePayments()
      const run = await context.reads().readReconciliation()
      print(command, context, { reconciliation: run }, () => describeReconciliation(run))
    })

  topUps
    .command('owed')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('what refunds and disputes took back beyond the balance; these accounts are suspended')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const owed = await context.reads().listReceivables(limit)
      print(command, context, { owed }, () =>
        table(
          ['OWED UNDER', 'SINCE', 'ACCOUNT', 'KIND', 'TAKEN BACK', 'STILL OWED', 'TOP-UP'],
          owed.map((one) => [
            one.id,
            day(one.created_at),
            one.account_id,
            one.kind,
            dollars(one.amount_cents),
            dollars(one.owed_cents),
            one.top_up_id,
          ]),
          'No account owes anything.',
        ),
      )
    })

  topUps
    .command('write-off')
    .argument('<owed>', 'from "topups owed"')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('no longer expect this money: it was paid in another way, or is given up')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const done = await context.operator().writeOffReceivable(id, reason)
      print(command, context, done, () => {
        const next =
          done.still_owed_cents === 0
            ? `Nothing else is owed. Next: shopwire-admin accounts resume ${done.account_id}`
            : `${dollars(done.still_owed_cents)} are still owed under other ids.`
        return `${dollars(done.written_off_cents)} of ${done.account_id} written off. ${next}`
      })
    })
}

function describeReconciliation(run: Awaited<ReturnType<OperatorReads['readReconciliation']>>): string {
  if (!run)
    return 'Card money was never compared with a payment provider. A worker with SHOPWIRE_STRIPE_SECRET_KEY does it once a day.'
  const counted = `${run.compared} compared, ${run.asked} of them read one by one`
  return [
    run.stage === null
      ? `Compared until  ${day(run.compared_until)} UTC: ${counted}`
      : `In progress     ${run.stage}, since ${day(run.started_at ?? run.due_at)} UTC: ${counted}`,
    `Last finished   ${run.finished_at ? `${day(run.finished_at)} UTC` : 'never'}`,
    `Due             ${day(run.due_at)} UTC`,
    `Need a decision ${run.reviews}${run.reviews > 0 ? ': shopwire-admin topups list' : ''}`,
  ].join('\n')
}

function row(top_up: TopUp): string[] {
  return [
    top_up.id,
    day(top_up.created_at),
    top_up.state,
    top_up.provider,
    dollars(top_up.amount_cents),
    top_up.reference,
    top_up.account_id,
    top_up.note ?? '',
  ]
}
