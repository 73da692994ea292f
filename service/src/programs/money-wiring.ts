import type { Config, DashboardConfig } from '../config/config.ts'
import type { FundingOptions } from '../dashboard/money/top-ups.ts'
import { checkBalances } from '../funding/balance-alert.ts'
import { createPaymentWorker } from '../funding/payment-worker.ts'
import type { PaymentProvider, ReadEvent } from '../funding/provider.ts'
import { type WatchedProvider, watchProvider } from '../funding/provider-watch.ts'
import { createReconciliation } from '../funding/reconcile.ts'
import { notifyPeople } from '../operations/notify-people.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { operatorFetch } from '../platform/outbound/operator-fetch.ts'
import { every, type Repeating } from '../platform/process/every.ts'
import { networksOf } from './wiring.ts'

/** A customer who comes back from paying looks at the balance. */
const PAYMENTS_EVERY_MS = 1_000
const RECONCILE_LOOK_EVERY_MS = 60_000
const BALANCES_EVERY_MS = 30_000

/** Which ways to add funds the dashboard offers. */
export function fundingOptionsOf(config: DashboardConfig): FundingOptions {
  return {
    bank: config.SHOPWIRE_BANK_DETAILS,
    card: config.SHOPWIRE_STRIPE_WEBHOOK_SECRETS && cardPaymentsOf(config),
    min_cents: config.SHOPWIRE_TOP_UP_MIN_CENTS,
    max_cents: config.SHOPWIRE_TOP_UP_MAX_CENTS,
    contact: config.SHOPWIRE_FUNDING_CONTACT,
  }
}

/** Loaded when it is first used, as few stores take cards: the package is large. */
export function cardPaymentsOf(config: Config | DashboardConfig): PaymentProvider | undefined {
  const {
    SHOPWIRE_STRIPE_SECRET_KEY: secretKey,
    SHOPWIRE_STRIPE_API_URL: apiUrl,
    SHOPWIRE_DASHBOARD_ORIGIN: origin = '',
  } = config
  if (secretKey === undefined) return undefined
  let opened: Promise<PaymentProvider> | undefined
  const provider = () => {
    opened ??= import('../funding/stripe.ts').then(({ stripeProvider }) =>
      stripeProvider({
        secretKey,
        apiUrl,
        origin,
        fetch: operatorFetch(config.SHOPWIRE_EGRESS_PROXY, networksOf(config)),
      }),
    )
    return opened
  }
  return {
    name: 'stripe',
    open: async (payment) => (await provider()).open(payment),
    readSession: async (session) => (await provider()).readSession(session),
    readPayment: async (payment) => (await provider()).readPayment(payment),
    endSession: async (session) => (await provider()).endSession(session),
    list: async (...what) => (await provider()).list(...what),
  }
}

/** Verifies events of Stripe; undefined where none are taken. */
export function stripeEventsOf({
  SHOPWIRE_STRIPE_WEBHOOK_SECRETS: secrets,
}: DashboardConfig): ReadEvent | undefined {
  if (secrets === undefined) return undefined
  return async (...event) => (await import('../funding/stripe.ts')).stripeEvents(secrets)(...event)
}

export interface MoneyLoopDeps {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly log: Log
  readonly metrics: Metrics
  /** False while this worker must not change anything. */
  mayWork(): boolean
  isTimeTrusted(): boolean
}

/** What a worker does about money that comes in: credit it, take back what was taken back, and warn before it runs out. */
export function moneyLoops(
  config: Config,
  { db, clock, keyring, log, metrics, mayWork, isTimeTrusted }: MoneyLoopDeps,
): Repeating & Pick<WatchedProvider, 'problem'> {
  const notify = notifyPeople(keyring, clock)
  const cards = cardPaymentsOf(config)
  const provider = cards && watchProvider(cards, metrics)
  const loops = [
    every(
      BALANCES_EVERY_MS,
      async (isStopped) => {
        if (mayWork()) await checkBalances({ db, clock, notify }, isStopped)
      },
      (error) => log.warn({ err: error }, 'balances could not be compared with their low-balance alerts'),
    ),
  ]
  if (provider) {
    const payments = createPaymentWorker({ db, clock, log, provider, notify })
    const reconcile = createReconciliation({ db, log, provider, settle: payments.settle })
    loops.push(
      every(
        PAYMENTS_EVERY_MS,
        async (isStopped) => {
          if (!mayWork()) return
          await payments.applyEvents(isStopped)
          await payments.lookAtTopUps(isStopped)
        },
        (error) => log.warn({ err: error }, 'payment events and open top-ups could not be read'),
      ),
      every(
        RECONCILE_LOOK_EVERY_MS,
        async (isStopped) => {
          if (mayWork() && isTimeTrusted()) await reconcile(isStopped)
        },
        (error) =>
          log.warn({ err: error }, 'card money could not be compared with the payment provider; it goes on'),
      ),
    )
  }
  return {
    problem: () => provider?.problem(),
    start() {
      for (const loop of loops) loop.start()
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
