import type { Call } from '../call.ts'
import type { CallOptions } from '../settings.ts'
import type { Transport } from '../transport.ts'
import type { WebhookConfiguration, WebhookHealth, WebhookTestResult } from '../types.ts'

/** The one endpoint of the account. Scopes `webhooks:read` and `webhooks:write`. */
export class WebhookEndpoint {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  get(options?: CallOptions): Call<WebhookHealth> {
    return this.#transport.call('getWebhook', { options })
  }

  /**
   * Where events go; null stops them. The answer that creates an endpoint has its `secret`, once. When that answer is lost,
   * so is the secret: this call is then not repeated but fails, and `delete` followed by `set` makes a new one.
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
