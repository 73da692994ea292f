import {
  ConflictError,
  InsufficientFundsError,
  type Item,
  type Order,
  type Shopwire,
  ShopwireError,
  type WebhookEvent,
} from '@shopwire/sdk'
import type { Chat, Message } from './chat.ts'
import type { Purchase, Purchases } from './purchases.ts'

const SHOWN_MAX = 5

const HELP =
  '/shop [words] shows what there is, /buy NUMBER offers it, /yes buys it, /orders lists your purchases'

/** Sells what the store sells, in any chat. */
export class Storefront {
  readonly #chat: Chat
  readonly #shop: Shopwire
  readonly #purchases: Purchases
  /** The last list shown to each user; `/buy 2` refers to its second item. */
  readonly #shown = new Map<string, Item[]>()
  readonly #beingBought = new Set<string>()

  constructor(chat: Chat, shop: Shopwire, purchases: Purchases) {
    this.#chat = chat
    this.#shop = shop
    this.#purchases = purchases
  }

  async run() {
    for await (const message of this.#chat.messages()) {
      // Chats deliver a message again when they got no confirmation.
      if (!this.#purchases.isNew(message.id)) continue
      try {
        await this.#answer(message)
      } catch (error) {
        console.error(error)
        await this.#chat.reply(message, 'That did not work. Please try again in a moment.')
      }
    }
  }

  /** Called by the webhook. Duplicate or reordered events have no effect: a purchase only moves forward. */
  async onEvent(event: WebhookEvent) {
    if (event.event === 'order.delivered' || event.event === 'order.cancelled')
      await this.#settle(event.data.order)
  }

  /** Called at the start and by a timer: continues purchases whose answer or event was lost, or that a crash interrupted. */
  async sweep() {
    for (const purchase of this.#purchases.inState('buying')) await this.#buy(purchase)
    for (const { key, order_id } of this.#purchases.inState('paid')) {
      if (order_id === null) continue
      try {
        await this.#settle(await this.#shop.orders.get(order_id))
      } catch (error) {
        // A failure of one does not stop the others.
        console.error(`${key} is still open:`, error)
      }
    }
  }

  /** Interrupted during an action: only a person can check in the chat whether it was done. */
  doubtful(): Purchase[] {
    return [...this.#purchases.inState('handing'), ...this.#purchases.inState('refunding')]
  }

  async #answer(message: Message) {
    const [command, ...words] = message.text.split(/\s+/)
    if (command === '/shop') await this.#show(message, words.join(' '))
    else if (command === '/buy') await this.#offer(message, Number(words[0]))
    else if (command === '/yes') await this.#confirm(message)
    else if (command === '/orders') await this.#tellOrders(message.user)
    else if (command?.startsWith('/')) await this.#chat.reply(message, HELP)
  }

  async #show(message: Message, search: string) {
    const items: Item[] = []
    for await (const item of this.#shop.catalogue.iterate({ search })) {
      if (item.sellable) items.push(item)
      if (items.length === SHOWN_MAX) break
    }
    this.#shown.set(message.user, items)
    const lines = items.map(({ name, price_cents }, index) => `${index + 1}. ${name} ${dollars(price_cents)}`)
    await this.#chat.reply(message, lines.length > 0 ? lines.join(' | ') : 'Nothing like that is for sale.')
  }

  async #offer(message: Message, number: number) {
    const known = this.#shown.get(message.user)?.[number - 1]
    if (!known) return this.#chat.reply(message, 'Which one? /shop shows a list with numbers.')
    const { id, name, price_cents, sellable } = await this.#shop.catalogue.get(known.id)
    if (!sellable) return this.#chat.reply(message, `${name} is sold out.`)
    this.#purchases.offer({
      key: `${this.#chat.name}:${message.id}`,
      user: message.user,
      item_id: id,
      item_name: name,
      price_cents,
    })
    await this.#chat.reply(message, `${name} for ${dollars(price_cents)}? /yes buys it.`)
  }

  async #confirm(message: Message) {
    // Take your customer's payment here, before buying:
    const purchase = this.#purchases.confirm(message.user)
    if (!purchase) return this.#chat.reply(message, 'There is no offer to accept. /shop lists the items.')
    await this.#chat.reply(message, `Buying ${purchase.item_name}. The link comes to you in private.`)
    await this.#buy(purchase)
  }

  /** Can be repeated for the same purchase: the idempotency key makes it one order. */
  async #buy({ key, user, item_id, item_name, price_cents }: Purchase) {
    if (this.#beingBought.has(key)) return
    this.#beingBought.add(key)
    try {
      const items = [{ id: item_id, qty: 1, expected_price_cents: price_cents }]
      const { id } = await this.#shop.orders.create({ items, idempotencyKey: key })
      this.#purchases.bought(key, id)
      // Its event may have arrived before the order's id was known.
      await this.#settle(await this.#shop.orders.get(id))
    } catch (error) {
      const reason = whyNothingWasBought(error)
      if (reason === undefined) {
        // It may have been bought, or the store is closed. The state stays, and the next sweep retries with the same key.
        const detail = error instanceof ShopwireError && error.isOutcomeUnknown ? 'outcome unknown' : error
        console.error(`${key} is still open:`, detail)
        return
      }
      // Refund your customer here.
      if (this.#purchases.move(key, 'buying', 'refused')) {
        await this.#chat.whisper(user, `${item_name} was not bought: ${reason}. You pay nothing.`)
      }
    } finally {
      this.#beingBought.delete(key)
    }
  }

  async #settle({ id, status, links }: Order) {
    const purchase = this.#purchases.ofOrder(id)
    // An order that was not made in this chat.
    if (!purchase) return
    const { key, user, item_name } = purchase
    if (status === 'delivered' && this.#purchases.move(key, 'paid', 'handing')) {
      await this.#perform(key, 'handing', 'handed', () =>
        this.#chat.whisper(user, `Your ${item_name}: ${links.join(' ')}`),
      )
    }
    if (status === 'cancelled' && this.#purchases.move(key, 'paid', 'refunding')) {
      // Refund your customer here.
      await this.#perform(key, 'refunding', 'refunded', () =>
        this.#chat.whisper(
          user,
          `${item_name} could not be delivered. You get ${dollars(purchase.price_cents)} back.`,
        ),
      )
    }
  }

  /**
   * Performs an action once. After a failure it is repeated; after a crash in between it stays claimed and is
   * reported for a person to check.
   */
  async #perform(
    key: string,
    claim: 'handing' | 'refunding',
    end: 'handed' | 'refunded',
    work: () => Promise<void>,
  ) {
    try {
      await work()
    } catch (error) {
      this.#purchases.move(key, claim, 'paid')
      throw error
    }
    this.#purchases.move(key, claim, end)
  }

  async #tellOrders(user: string) {
    const lines = this.#purchases
      .ofUser(user)
      .map(({ item_name, price_cents, state }) => `${item_name} ${dollars(price_cents)} ${state}`)
    await this.#chat.whisper(user, lines.length > 0 ? lines.join(' | ') : 'You have bought nothing yet.')
  }
}

/** Undefined when the outcome is unknown. */
function whyNothingWasBought(error: unknown): string | undefined {
  // A problem on our side; details are not shown to the customer.
  if (error instanceof InsufficientFundsError) return 'we cannot sell it right now'
  if (!(error instanceof ConflictError)) return undefined
  if (error.type === 'price_changed') return 'its price has just changed'
  if (error.type === 'item_unavailable') return 'it has just sold out'
  return undefined
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`
}
