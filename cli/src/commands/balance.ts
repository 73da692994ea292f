import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import { money } from '../terminal/words.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    `\nScope account:read.${examples('shopwire balance', 'shopwire balance --json | jq .balance_cents')}`,
  )
  work(command, async ({ out, shop }) => {
    const balance = await (await shop()).balance()
    out.show(
      balance,
      () => `${out.paint.bold(money(balance.balance_cents))} ${out.paint.dim(balance.currency)}`,
    )
  })
}
