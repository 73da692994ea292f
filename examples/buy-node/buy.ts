import {
  ConflictError,
  type FinalOrder,
  InsufficientFundsError,
  OrderPendingError,
  Shopwire,
  ShopwireError,
} from '@shopwire/sdk'
import { type Purchase, Purchases } from './purchases.ts'

/** `buy.ts [ITEM_ID [QUANTITY]]`. After a crash, run it again: it first finishes the open purchase with the same key and cart. */
const DELIVERY_MS_MAX = 60_000
const EXIT_TRY_AGAIN = 75

const shop = new Shopwire() // SHOPWIRE_API_KEY, SHOPWIRE_API_SECRET, SHOPWIRE_BASE_URL
const purchases = new Purchases(process.env.PURCHASES_DB ?? 'purchases.db')

for (const begun of purchases.unfinished()) {
  console.log(`Unfinished from before: ${begun.key}`)
  await buy(begun)
}
const [itemId = await anyItem(), quantity = '1'] = process.argv.slice(2)
const wanted = await quote(itemId, Number(quantity))
if (wanted) await buy(purchases.add(wanted))

/** The cart with the price our customer sees; it is not bought at another price. */
async function quote(id: string, qty: number) {
  const { ok, lines, total_cents } = await shop.quote({ items: [{ id, qty }] })
  const [line] = lines
  if (!ok || line?.unit_price_cents === undefined) {
    console.log(`${line?.name ?? id} is sold out`)
    process.exitCode = 1
    return undefined
  }
  console.log(`${qty} × ${line.name}: ${dollars(total_cents)}`)
  return [{ id, qty, expected_price_cents: line.unit_price_cents }]
}

async function buy({ key, items }: Purchase) {
  try {
    const order = await shop.orders.create({ items, idempotencyKey: key })
    purchases.bought(key, order.id)
    console.log(
      `${order.id} ${order.replayed ? 'was bought before' : 'is bought'}: ${dollars(order.total_cents)}`,
    )
    // A webhook reports delivery sooner and costs no requests: see receiver-*. Polling is for scripts and lost events.
    report(key, await shop.orders.wait(order.id, { within: DELIVERY_MS_MAX }))
  } catch (error) {
    refused(key, error)
  }
}

function report(key: string, { id, status, links, total_cents }: FinalOrder) {
  purchases.finish(key, status)
  if (status === 'delivered') console.log(`${id} is delivered: ${links.map(masked).join(' ')}`)
  else console.log(`${id} was cancelled, ${dollars(total_cents)} refunded`)
}

function refused(key: string, error: unknown) {
  process.exitCode = 1
  if (error instanceof InsufficientFundsError) {
    purchases.finish(key, error.type)
    console.log('The balance is too low. Nothing was bought.')
  } else if (error instanceof ConflictError && error.type === 'price_changed') {
    purchases.finish(key, error.type)
    console.log('The price has changed. Nothing was bought: show the new price and ask again.')
  } else if (error instanceof ConflictError && error.type === 'item_unavailable') {
    purchases.finish(key, error.type)
    console.log('It was sold out just now. Nothing was bought.')
  } else if (error instanceof OrderPendingError) {
    process.exitCode = EXIT_TRY_AGAIN
    console.log(`${error.order.id} is paid and not delivered yet; run this again later`)
  } else if (error instanceof ShopwireError && error.isOutcomeUnknown) {
    process.exitCode = EXIT_TRY_AGAIN
    console.log(
      `It is not known whether ${key} was bought. It stays unfinished: run this again, it never buys twice.`,
    )
  } else {
    // Any other error also leaves the purchase unfinished: the next run sends it again with its key.
    throw error
  }
}

async function anyItem(): Promise<string> {
  for await (const { id, sellable } of shop.catalogue.iterate()) if (sellable) return id
  throw new Error('Nothing is for sale.')
}

/** Links are masked: whoever reads one, also in a log, can redeem it. */
function masked(link: string): string {
  return `${new URL(link).origin}/…${link.slice(-4)}`
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`
}
