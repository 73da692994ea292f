import { type CartItem, OrderRequest, repeatedItemId } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { RefundRule } from '../../orders/fulfilment/refund-rule.ts'
import type { WaitingOrder } from '../../orders/fulfilment/waiting.ts'
import type { OrderLineRow, OrderRow } from '../../orders/queries.ts'
import { printable } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import {
  parseCount,
  parseDollars,
  parseDuration,
  parseInstant,
  parseLimit,
  parseText,
} from '../terminal/parse.ts'
import { day, dollars, print, table } from '../terminal/print.ts'
import { readLines } from '../terminal/read-input.ts'
import { describeEvidence, proveCommand } from './order-evidence.ts'

export function orderCommands(program: Command, context: CommandContext): void {
  const orders = program.command('orders').description('what was bought, and whether it was delivered')

  lookingCommands(orders, context)
  proveCommand(orders, context)
  actingCommands(orders, context)
  refundCommands(
    program.command('refunds').description('when orders that cannot be delivered are given up'),
    context,
  )
}

function lookingCommands(orders: Command, context: CommandContext): void {
  orders
    .command('list')
    .argument('[account]', 'only of this account')
    .addOption(new Option('--status <status>').choices(['paid', 'delivered', 'cancelled']))
    .option('--since <time>', 'bought at or after, as 2026-11-14T22:00:00Z', parseInstant)
    .option('--until <time>', 'and before', parseInstant)
    .option('--item <item>', 'only with this item')
    .option('--before <order>', 'continue before this order')
    .option('--limit <n>', 'how many', parseLimit, 25)
    .description('orders of the whole store or of one account, newest first')
    .action(async (account: string | undefined, flags: ListFlags, command: Command) => {
      const { status, since, until, item, before, limit } = flags
      const filter = {
        account_id: account,
        status,
        since: since === undefined ? undefined : new Date(since),
        until: until === undefined ? undefined : new Date(until),
        item_id: item,
        before,
      }
      const found = await context.longRunningReads().listOrders(filter, limit)
      const next = found.length === limit ? found.at(-1)?.id : undefined
      print(command, context, { orders: found, next: next ?? null }, () => {
        const text = table(
          ['ORDER', 'TIME (UTC)', 'STATUS', 'TOTAL', 'ACCOUNT'],
          found.map((o) => [o.id, day(o.created_at), o.status, dollars(o.total_cents), o.account_id]),
          'No such orders.',
        )
        return next ? `${text}\nMore: --before ${next}` : text
      })
    })

  orders
    .command('containing')
    .argument('<item>')
    .requiredOption('--from <time>', 'bought at or after, as 2026-11-14T22:00:00Z', parseInstant)
    .option('--until <time>', 'and before; now by default', parseInstant)
    .option('--price <amount>', 'only at this price, such as 0.49', parseDollars)
    .option('--limit <n>', 'how many', parseLimit, 1_000)
    .description('orders of all accounts with an item, oldest first')
    .action(
      async (
        item: string,
        options: { from: number; until?: number; price?: number; limit: number },
        command: Command,
      ) => {
        const found = await context.longRunningReads().listOrdersOfItem(item, {
          from: new Date(options.from),
          until: new Date(options.until ?? context.nowMs()),
          priceCents: options.price,
          limit: options.limit,
        })
        print(command, context, { orders: found }, () =>
          table(
            ['ORDER', 'ACCOUNT', 'TIME (UTC)', 'STATUS', 'QTY', 'PRICE'],
            found.map((o) => [
              o.id,
              o.account_id,
              day(o.created_at),
              o.status,
              String(o.qty),
              dollars(o.unit_price_cents),
            ]),
            'No such orders.',
          ),
        )
      },
    )

  orders
    .command('waiting')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('paid orders without their links, oldest first, and why')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const waiting = await context.reads().listWaiting(limit)
      print(command, context, waiting, () =>
        [waitingTable(waiting.orders), ...describeHold(waiting.refund_rule)].join('\n'),
      )
    })

  orders
    .command('show')
    .argument('<order>')
    .option('--reveal-links', 'print the links too; this is recorded in the audit log')
    .description(
      'an order with its lines, every attempt to buy it, who read its links, and its webhook events',
    )
    .action(async (id: string, { revealLinks }: { revealLinks?: true }, command: Command) => {
      const order = await context.reads().showOrder(id)
      const links = revealLinks ? await context.operator().revealLinks(id) : undefined
      // Read last, so that it includes this reading of the links.
      const evidence = await context.reads().readOrderEvidence(id)
      print(command, context, { ...order, ...evidence, ...(links && { links }) }, () =>
        [
          describeOrder(order),
          ...describeEvidence(evidence, order.created_at),
          ...(links ? ['', ...links] : []),
        ].join('\n'),
      )
    })
}

function actingCommands(orders: Command, context: CommandContext): void {
  orders
    .command('place')
    .argument('<account>')
    .argument('<items...>', 'item, item:qty or item:qty:expected price in cents', parseCartItem)
    .requiredOption('--key <text>', 'idempotency key: the same one again buys nothing new')
    .description('buy for an account, as its own server would')
    .action(
      async (account: string, items: readonly CartItem[], { key }: { key: string }, command: Command) => {
        const request = checkOrder({ items: [...items], idempotency_key: key })
        const outcome = await context.operator().placeOrder(account, request)
        print(command, context, outcome, () =>
          outcome.kind === 'bought'
            ? `Bought ${outcome.order.id} for ${dollars(outcome.order.total_cents)}.`
            : `This key bought ${outcome.order_id} before; nothing was charged.`,
        )
      },
    )

  orders
    .command('deliver')
    .argument('<order>')
    .argument('<file>', 'the links it lacks, one a line in the order of its lines; "-" reads standard input')
    .description('deliver an order by hand')
    .action(async (id: string, file: string, _options, command: Command) => {
      const done = await context.operator().deliverOrder(id, await readLines(file))
      print(command, context, done, () =>
        done.isNew ? `Delivered ${id}.` : `${id} is already delivered with these links; nothing was done.`,
      )
    })

  orders
    .command('cancel')
    .argument('<order>')
    .requiredOption('--reason <text>', 'kept with the order', parseText)
    .option('--although-delivered', 'even if the customer got its links in a time that a restore lost')
    .description('give up a paid order and return its money; final')
    .action(async (id: string, options: { reason: string; althoughDelivered?: true }, command: Command) => {
      const { reason, ...rest } = options
      const done = await context.operator().cancelOrder(id, reason, rest)
      print(command, context, done, () =>
        done.isNew
          ? `Cancelled ${id}; ${dollars(done.order.total_cents)} went back to ${done.order.account_id}.`
          : `${id} was cancelled before; nothing was done.`,
      )
    })

  orders
    .command('retry')
    .argument('<order>')
    .description('try to fulfil an order now instead of at its next time')
    .action(async (id: string, _options, command: Command) => {
      const order = await context.operator().retryOrder(id)
      print(command, context, order, () => `${id} is due now; "orders show ${id}" shows the result.`)
    })
}

function refundCommands(refunds: Command, context: CommandContext): void {
  refunds
    .command('rule')
    .option('--cancel-after <duration>', 'such as 2d; "never" leaves it to an operator')
    .option('--per-hour <n>', 'stop after this many an hour and wait for an operator', parseCount)
    .description('show or set after how long an undelivered order is cancelled and refunded automatically')
    .action(
      async ({ cancelAfter, perHour }: { cancelAfter?: string; perHour?: number }, command: Command) => {
        if (perHour === 0)
          throw refuse('invalid_request', 'At least 1 an hour; --cancel-after never turns it off.')
        const wanted = {
          ...(cancelAfter !== undefined && {
            cancel_after_ms: cancelAfter === 'never' ? null : parseDuration(cancelAfter),
          }),
          ...(perHour !== undefined && { per_hour_max: perHour }),
        }
        const rule =
          Object.keys(wanted).length === 0
            ? await context.reads().readRefundRule()
            : await context.operator().setRefundRule(wanted)
        print(command, context, rule, () => [describeRule(rule), ...describeHold(rule)].join('\n'))
      },
    )

  refunds
    .command('release')
    .description('let the refund rule continue after it has reached its limit; check "orders waiting" first')
    .action(async (_options, command: Command) => {
      const rule = await context.operator().releaseRefundRule()
      print(
        command,
        context,
        rule,
        () => `Released. The rule may refund up to ${rule.per_hour_max} orders in the hour that begins now.`,
      )
    })
}

interface ListFlags {
  readonly status?: OrderRow['status']
  readonly since?: number
  readonly until?: number
  readonly item?: string
  readonly before?: string
  readonly limit: number
}

function parseCartItem(text: string, before: readonly CartItem[] = []): CartItem[] {
  const [, id, qty, expected] = /^(\d{17,20})(?::([1-9]\d?))?(?::([1-9]\d{0,5}))?$/.exec(text) ?? []
  if (id === undefined) throw new InvalidArgumentError('must be an item, such as 1144058340327047001 or …:2.')
  const line = {
    id,
    ...(qty !== undefined && { qty: Number(qty) }),
    ...(expected !== undefined && { expected_price_cents: Number(expected) }),
  }
  return [...before, line]
}

/** The contract's own rules: an operator cannot place an order that a caller could not send. */
function checkOrder(request: OrderRequest): OrderRequest {
  const check = new Ajv({ strict: true }).compile(OrderRequest)
  const [error] = check(request) ? [] : (check.errors ?? [])
  if (error)
    throw refuse('invalid_request', `${error.instancePath.slice(1) || 'The order'} ${error.message}.`)
  const repeated = repeatedItemId(request.items)
  if (repeated !== null)
    throw refuse('invalid_request', `The item ${repeated} appears twice. Put it in one line with its qty.`)
  return request
}

function describeOrder(order: OrderRow & { lines: readonly OrderLineRow[] }): string {
  const end =
    order.status === 'cancelled'
      ? `cancelled ${day(order.cancelled_at as Date)} UTC: ${printable(order.cancel_reason ?? '')}`
      : order.delivered_at
        ? `delivered ${day(order.delivered_at)} UTC`
        : 'paid, waiting for its links'
  return [
    `${order.id} of ${order.account_id}`,
    `bought ${day(order.created_at)} UTC for ${dollars(order.total_cents)}; ${end}`,
    '',
    table(
      ['ITEM', 'QTY', 'EACH', 'NAME'],
      order.lines.map((line) => [line.id, String(line.qty), dollars(line.unit_price_cents), line.name]),
      '',
    ),
  ].join('\n')
}

function waitingTable(rows: readonly WaitingOrder[]): string {
  return table(
    ['ORDER', 'SINCE (UTC)', 'TOTAL', 'TRIED', 'NEXT (UTC)', 'WHY'],
    rows.map((row) => [
      row.id,
      day(row.created_at),
      dollars(row.total_cents),
      `${row.attempts}×`,
      row.next_at ? day(row.next_at) : 'when woken',
      row.note ?? 'not started yet: is a worker running?',
    ]),
    'Nothing waits: every order is delivered or cancelled.',
  )
}

function describeRule({ cancel_after_ms, per_hour_max }: RefundRule): string {
  if (cancel_after_ms === null) return 'Undelivered orders wait until an operator delivers or cancels them.'
  return (
    `An order that is not delivered after ${duration(cancel_after_ms)} is cancelled and refunded, ` +
    `up to ${per_hour_max} an hour.`
  )
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

const duration = (ms: number) => (ms % HOUR_MS === 0 ? `${ms / HOUR_MS} hours` : `${ms / MINUTE_MS} minutes`)

function describeHold({ held_at, per_hour_max }: RefundRule): string[] {
  if (held_at === null) return []
  return [
    `STOPPED since ${day(held_at)} UTC: the refund rule reached its limit of ${per_hour_max} an hour; nothing more is refunded automatically.`,
    'Check the overdue orders and the clocks of database and workers, then: shopwire-admin refunds release',
  ]
}
