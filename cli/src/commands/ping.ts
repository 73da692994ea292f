import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import { printable } from '../terminal/paint.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    `\nScope account:read.${examples('shopwire ping', 'shopwire ping --profile live --json')}`,
  )
  work(command, async ({ out, shop, credentials }) => {
    const { source, keyId } = await credentials()
    const client = await shop()
    const startedMs = performance.now()
    const { data, rateLimit, requestId } = await client.ping().withResponse()
    const ms = Math.round(performance.now() - startedMs)
    out.show({ ...data, key_id: keyId, source, ms, request_id: requestId, rate_limit: rateLimit }, () => {
      const left = rateLimit.req ? ` · ${rateLimit.req.remaining} requests left this minute` : ''
      return [
        `${out.paint.green('✔')} ${out.paint.bold(printable(data.name))}  account ${data.account_status}, key ${data.status}`,
        `  ${out.paint.dim(`${keyId} (${source}) · ${ms} ms${left}`)}`,
      ].join('\n')
    })
    if (client.clockOffsetMs !== 0) {
      const seconds = Math.round(-client.clockOffsetMs / 1000)
      out.note(
        `${out.paintError.yellow('!')} This machine's clock is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}; the store refused the first attempt. Set the clock.`,
      )
    }
  })
}
