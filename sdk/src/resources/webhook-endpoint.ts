import type { Call } from '../call.ts'
import type { CallOptions } from '../settings.ts'
import type { Transport } from '../transport.ts'
import type { WebhookConfiguration, WebhookHealth, WebhookTestResult } from '../types.ts'

/** Manages the account's webhook endpoint; there is at most one. Scopes `webhooks:read` and `webhooks:write`. */
export class WebhookEndpoint {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  get(options?: CallOptions): Call<WebhookHealth> {
    return this.#transport.call('getWebhook', { options })
  }

  /**
   * Sets the URL that events are sent to; null stops deliveries. Only the answer that creates the endpoint contains
   * its `secret`. When that answer is lost the call fails and is not retried; call `delete`, then `set`, to get a new
   * secret.
   */
  set(url: string | null, options?: CallOptions): Call<WebhookConfiguration> {
    return this.#transport.call('postWebhook', { body: { url }, options })
  }

  delete(options?: CallOptions): Call<WebhookHealth> {
    return this.#transport.call('deleteWebhook', { options })
  }

  /** Queues a `test` event. */
  test(options?: CallOptions): Call<WebhookTestResult> {
    return this.#transport.call('postWebhookTest', { body: {}, options })
  }
}
