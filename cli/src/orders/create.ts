import {
  type CartItem,
  PermissionError,
  type PlacedOrder,
  type Quote,
  type Shopwire,
  ShopwireError,
} from '@shopwire/sdk'
import type { Context, Outcome } from '../context.ts'
import { type Paint, printable } from '../terminal/paint.ts'
import { facts } from '../terminal/table.ts'
import { moment, money } from '../terminal/words.ts'
import { CliError, EXIT, explain, UsageError } from '../trouble.ts'
import { IDEMPOTENCY_KEY_FORM, parseCart, quoteTable, writeItem } from './cart.ts'
import { orderText, withoutLinks } from './present.ts'

export interface CreateOptions {
  readonly item?: string[]
  readonly key?: string
  readonly yes?: true
  readonly links?: true
}

/** Shows the price, asks for confirmation, buys. Every line is sent with the price that was shown, so no other price is charged. */
export async function createOrder(context: Context, options: CreateOptions): Promise<Outcome> {
  const { out } = context
  const key = checkedKey(options.key)
  const wanted = parseCart(options.item)
  context.needAnswer(options.yes)
  const shop = await context.shop()
  const quote = await permitted(shop.quote({ items: wanted }))
  const items = pinned(wanted, quote)
  const balance = (await permitted(shop.balance()))?.balance_cents
  await preview(context, shop, quote, items, balance)
  const question = quote?.ok === false ? await sendAnyway(context, quote, wanted, options) : 'Buy this?'
  if (!(await context.mayProceed(question, options.yes))) {
    out.note('Nothing was sent.')
    return EXIT.failed
  }
  return buy(context, shop, items, key, options)
}

async function buy(
  { out, again }: Context,
  shop: Shopwire,
  items: readonly CartItem[],
  key: string,
  { links }: CreateOptions,
): Promise<Outcome> {
  const { data: order, attempts } = await shop.orders
    .create({ items, idempotencyKey: key })
    .withResponse()
    .catch((error: unknown) => {
      const cart = items.map((item) => `--item ${writeItem(item)}`).join(' ')
      const same = `shopwire orders create ${cart} --key ${key} --yes${links ? ' --links' : ''}`
      throw unknownOutcome(error, again(same)) ?? error
    })
  const shown = links ? order : withoutLinks(order)
  out.show({ ...shown, idempotency_key: key, attempts }, () => {
    return `${verdict(order, attempts, out.paint)}\n\n${orderText(order, links === true, out.paint)}`
  })
}

function verdict({ replayed, created_at, total_cents }: PlacedOrder, attempts: number, paint: Paint): string {
  const when = moment(created_at)
  if (!replayed) return `${paint.green('✔')} ${paint.bold('Bought')} for ${money(total_cents)}.`
  // This run may have bought it in an attempt whose answer was lost, so the text must not say "before".
  if (attempts > 1) {
    return `${paint.green('✔')} ${paint.bold('Bought once')} for ${money(total_cents)}, ${when}. An answer was lost; a retry with the same key (${attempts} attempts) found the order.`
  }
  return `${paint.yellow('↺')} ${paint.bold('Replayed')}: this key bought it before, ${when}. Nothing was charged now.`
}

function checkedKey(key: string | undefined): string {
  if (key === undefined) {
    throw new CliError({
      type: 'usage',
      message: 'An order needs --key, your own id for this purchase.',
      why: 'It keeps a repeated order from buying twice: the store never buys twice for one key.\nA generated key would be a new purchase every time.',
      next: 'Take one from your own records, such as --key purchase-1042',
      exitCode: EXIT.usage,
    })
  }
  if (!IDEMPOTENCY_KEY_FORM.test(key)) {
    throw new UsageError(
      `${JSON.stringify(key)} is not a valid key.`,
      'Use 8 to 100 letters, digits, dots, underscores, colons or hyphens.',
    )
  }
  return key
}

/** Values that the key may not read are left out; whether it may buy is checked with the order. */
async function permitted<Data>(call: Promise<Data>): Promise<Data | undefined> {
  return call.catch((error: unknown) => {
    if (error instanceof PermissionError && error.type === 'insufficient_scope') return undefined
    throw error
  })
}

function pinned(wanted: readonly CartItem[], quote: Quote | undefined): CartItem[] {
  return wanted.map((item) => {
    if (item.expected_price_cents !== undefined) return item
    if (!quote) {
      throw new UsageError(
        `This key cannot read prices (it lacks catalogue:read), and item ${item.id} has no expected price.`,
        `Add the expected price: --item ${item.id}:${item.qty ?? 1}@CENTS`,
      )
    }
    const price = quote.lines.find(({ id }) => id === item.id)?.unit_price_cents
    // A price of 0 cannot be sent as expected price: its minimum is one cent.
    return price === undefined || price === 0 ? item : { ...item, expected_price_cents: price }
  })
}

async function preview(
  { out, credentials }: Context,
  shop: Shopwire,
  quote: Quote | undefined,
  items: readonly CartItem[],
  balance: number | undefined,
): Promise<void> {
  if (out.isJson) return
  const { paintError: paint } = out
  const { source, baseUrl } = await credentials()
  const name = (await permitted(shop.ping()))?.name
  const total =
    quote?.total_cents ??
    items.reduce((sum, { qty = 1, expected_price_cents = 0 }) => sum + qty * expected_price_cents, 0)
  const after = balance === undefined ? undefined : balance - total
  out.note(
    `${quote ? quoteTable(quote, paint) : `${paint.dim('Total')}    ${paint.bold(money(total))} as you expect it`}\n${facts(
      [
        [
          'Balance',
          balance === undefined
            ? 'unknown: this key lacks account:read'
            : `${money(balance)} now, ${after !== undefined && after < 0 ? paint.red(`${money(after)}: too little`) : `${money(after ?? 0)} after; unchanged if this key bought before`}`,
        ],
        ['Account', `${printable(name ?? 'unknown')} at ${baseUrl} (${source})`],
      ],
      paint,
    )}\n`,
  )
}

/**
 * The store checks the idempotency key first, so a cart that is no longer available can still be sent again with the
 * key that bought it.
 */
async function sendAnyway(
  { out }: Context,
  quote: Quote,
  wanted: readonly CartItem[],
  { yes }: CreateOptions,
): Promise<string> {
  const arePinned = wanted.every(({ expected_price_cents }) => expected_price_cents !== undefined)
  if (yes && !arePinned) {
    const line = quote.lines.find(({ status }) => status !== 'ok')
    throw new CliError({
      type: line?.status === 'price_changed' ? 'price_changed' : 'item_unavailable',
      message: `The store would refuse this cart: ${line?.id} is ${line?.status.replace('_', ' ')}. Nothing was sent.`,
      next: 'If this key may have bought it before, run the command again with @CENTS at every item: then it is sent, and an earlier purchase is returned.',
      exitCode: EXIT.conflict,
    })
  }
  out.note(
    `${out.paintError.yellow('!')} The store would refuse this cart as a new order. If this key bought it before, sending it again is safe and shows that order.`,
  )
  return 'Send it?'
}

/**
 * The outcome is unknown, so the message contains the exact command to repeat, with the prices that were sent and the
 * same profile: in another account the same key would buy again.
 */
function unknownOutcome(error: unknown, again: string): CliError | undefined {
  if (!(error instanceof ShopwireError) || !error.isOutcomeUnknown) return undefined
  return new CliError({
    ...explain(error),
    message: `It is not known whether the order was bought: ${error.message}`,
    why: `The answer was lost after ${error.attempts} ${error.attempts === 1 ? 'attempt' : 'attempts'}. The store may or may not have bought it.`,
    next: `Run the same command again, with the same key. It returns the order or places it, and never buys twice:\n${again}`,
  })
}
