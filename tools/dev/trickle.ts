import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { InsufficientFundsError, Shopwire } from '@shopwire/sdk'

/** A customer whose server buys now and then. */
export interface TrickleCustomer {
  readonly keyId: string
  readonly secret: string
  /** On average. */
  readonly everyMs: number
  /** Their money has run out. */
  fund(): void
}

const FIRST_MS = 4_000

/**
 * Orders that customers' servers place while the development store runs, over the API like any other: an order arrives, is delivered and
 * notified while somebody looks. What is refused is tried again with the next one.
 */
export function startTrickle(baseUrl: string, customers: readonly TrickleCustomer[]): { stop(): void } {
  const ended = new AbortController()
  for (const customer of customers) buyFrom(baseUrl, customer, ended.signal).catch(() => {})
  return { stop: () => ended.abort() }
}

async function buyFrom(
  baseUrl: string,
  { keyId, secret, everyMs, fund }: TrickleCustomer,
  signal: AbortSignal,
): Promise<void> {
  const shop = new Shopwire({ baseUrl, keyId, secret })
  for (let waitMs = FIRST_MS; ; waitMs = everyMs * (0.5 + Math.random())) {
    await sleep(waitMs, undefined, { signal })
    try {
      const { items } = await shop.catalogue.list({ limit: 50 }, { signal })
      const sellable = items.filter((item) => item.sellable)
      const item = sellable[Math.floor(Math.random() * sellable.length)]
      if (item)
        await shop.orders.create(
          { items: [{ id: item.id, qty: 1 }], idempotencyKey: `trickle-${randomUUID()}` },
          { signal },
        )
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof InsufficientFundsError) fund()
    }
  }
}
