import type { Call } from './call.ts'
import { Catalogue } from './resources/catalogue.ts'
import { Orders } from './resources/orders.ts'
import { WebhookEndpoint } from './resources/webhook-endpoint.ts'
import { type CallOptions, readSettings, type ShopwireOptions } from './settings.ts'
import { Transport } from './transport.ts'
import type { Balance, CartItem, PingResult, Quote, ServiceStatus } from './types.ts'
import * as webhooks from './webhooks/index.ts'

/** A client of one store with one API key. Create it once per process. */
export class Shopwire {
  readonly #transport: Transport
  readonly catalogue: Catalogue
  readonly orders: Orders
  /** Manages the endpoint that events are sent to. */
  readonly webhookEndpoint: WebhookEndpoint
  /** Verifies and parses events, on the server behind that endpoint. The same as `@shopwire/sdk/webhooks`. */
  readonly webhooks: typeof webhooks = webhooks

  constructor(options: ShopwireOptions = {}) {
    this.#transport = new Transport(readSettings(options))
    this.catalogue = new Catalogue(this.#transport)
    this.orders = new Orders(this.#transport)
    this.webhookEndpoint = new WebhookEndpoint(this.#transport)
  }

  /** How many milliseconds the store's clock is ahead of the local one; 0 until the store refuses a timestamp. */
  get clockOffsetMs(): number {
    return this.#transport.clockOffsetMs
  }

  /** The state of the service and the store. Needs no key. */
  status(options?: CallOptions): Call<ServiceStatus> {
    return this.#transport.call('getStatus', { options })
  }

  /** Whose key this is. Scope `account:read`. */
  ping(options?: CallOptions): Call<PingResult> {
    return this.#transport.call('getPing', { options })
  }

  /** What the account can spend. Scope `account:read`. */
  balance(options?: CallOptions): Call<Balance> {
    return this.#transport.call('getBalance', { options })
  }

  /** What a cart would cost now; spends nothing. Scope `catalogue:read`. */
  quote({ items }: { items: readonly CartItem[] }, options?: CallOptions): Call<Quote> {
    return this.#transport.call('postQuote', { body: { items }, options })
  }
}
