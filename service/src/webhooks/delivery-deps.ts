import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { Job } from '../platform/jobs/jobs.ts'
import type { Notify } from '../platform/mail/notify.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Span } from '../platform/observability/tracing.ts'
import type { GuardedClient, GuardedClientOptions } from '../platform/outbound/guarded-client.ts'
import type { Attempt, Destination, DueDelivery, EndedJob, EndpointKey, Look } from './delivery-queries.ts'
import { secretBinding } from './endpoint.ts'
import type { WebhookMetrics } from './metrics.ts'

export interface DeliverDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  openClient(url: string, options: GuardedClientOptions, endpoint: EndpointKey): GuardedClient
  readonly log: Log
  readonly metrics: Pick<
    WebhookMetrics,
    'webhookAttempts' | 'webhookAttemptDuration' | 'webhookFirstAttemptDelay' | 'webhookDeliveries'
  >
  /** The body of an event, as the receiver will parse it, the same whenever it is called. After a failed attempt the bytes are stored. */
  compose(event: EventToCompose): Promise<object>
  /** Mails about an endpoint that fails. */
  readonly notify: Notify
  random(): number
  /** Begins the span of an attempt, while tracing is on. */
  trace?: ((delivery: DeliveryToTrace) => Promise<Span>) | undefined
}

export type DeliveryToTrace = Pick<DueDelivery, 'event_id' | 'type' | 'order_id' | 'round' | 'attempts'> &
  EndpointKey

export type EventToCompose = Pick<
  DueDelivery,
  'event_id' | 'type' | 'order_id' | 'revision' | 'event_created_at'
> & {
  readonly account_id: string
}

/** The endpoint is read again after this time. The answer to a change of URL is delayed for longer. */
const FRESH_MS = 50

export interface Shared extends DeliverDeps {
  read(endpoint: EndpointKey): Promise<Destination | undefined>
  record(attempt: Attempt): Promise<boolean>
  look(look: Look): Promise<DueDelivery[]>
  end(job: Job): Promise<EndedJob>
}

/** To one endpoint, for as long as this worker has its job. */
export interface DeliveryRoute {
  readonly client: GuardedClient
  readonly destination: ReturnType<typeof watch>
  open(secret: Destination['secrets'][number]): Promise<string>
}

export function watch(read: () => Promise<Destination | undefined>) {
  let known: Destination | undefined
  let readMs = Number.NEGATIVE_INFINITY
  async function now() {
    const askedMs = performance.now()
    known = await read()
    readMs = askedMs
    return known
  }
  return {
    now,
    fresh: async () => (performance.now() - readMs < FRESH_MS ? known : now()),
  }
}

/** A secret is decrypted once for the events that are sent together. */
export function secretOpener(keyring: Keyring, account_id: string): DeliveryRoute['open'] {
  const opened = new Map<string, Promise<string>>()
  return ({ id, secret_sealed }) => {
    const known =
      opened.get(id) ?? keyring.open(Buffer.from(secret_sealed, 'base64'), secretBinding(account_id, id))
    opened.set(id, known)
    return known
  }
}
