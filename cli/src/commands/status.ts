import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import { count, moment } from '../terminal/words.ts'
import { EXIT } from '../trouble.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    `\nNeeds an address and no key. Exits with 7 when the store takes no orders now.${examples('shopwire status', 'SHOPWIRE_BASE_URL=https://shop.example/v1 shopwire status --json')}`,
  )
  work(command, async ({ out, publicShop }) => {
    const status = await (await publicShop()).status()
    const takesOrders = status.api === 'up' && status.store === 'open'
    out.show(status, () => {
      const mark = takesOrders ? out.paint.green('✔') : out.paint.red('✖')
      const parts = [
        `api ${status.api}`,
        `store ${status.store}`,
        `${count(status.queue, 'order')} waiting for delivery`,
      ]
      return `${mark} ${out.paint.bold(status.status)}  ${parts.join(' · ')}\n  ${out.paint.dim(`as of ${moment(status.updated)}`)}`
    })
    return takesOrders ? EXIT.ok : EXIT.unavailable
  })
}
