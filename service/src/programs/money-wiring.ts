import type { Config, DashboardConfig } from '../config/config.ts'
import type { FundingOptions } from '../dashboard/money/top-ups.ts'
import { checkBalances } from '../funding/balance-alert.ts'
import { createPaymentWorker } from '../funding/payment-worker.ts'
import type { PaymentProvider, ReadEvent } from '../funding/provider.ts'
import { type WatchedProvider, watchProvider } from '../funding/provider-watch.ts'
import { createReconciliation } from '../funding/reconcile.ts'
import { notifyPeople } from '../operations/notify-people.ts'
import { operatorFetch } from '../platform/outbound/operator-fetch.ts'
import type { Loop, LoopDeps } from './loop.ts'
import { networksOf } from './wiring.ts'

/** Which ways to add funds the dashboard offers. */
export function fundingOptionsOf(config: DashboardConfig): FundingOptions {
  return {
    bank: config.SHOPWIRE_BANK_DETAILS,
    card: config.SHOPWIRE_STRIPE_WEBHOOK_SECRETS && cardPaymentsOf(config),
    min_cents: config.SHOPWIRE_TOP_UP_MIN_CENTS,
    max_cents: config.SHOPWIRE_TOP_UP_MAX_CENTS,
    contact: config.SHOPWIRE_CONTACT,
  }
}

/** Loaded when it is first used, because few stores take cards and the package is large. */
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

/** A worker's work on incoming money: credits it, takes back what was refunded or disputed, and warns before a balance runs out. */
export function moneyLoops(
  config: Config,
  { db, clock, keyring, log, metrics }: LoopDeps,
): { readonly loops: Loop[] } & Pick<WatchedProvider, 'problem'> {
  const notify = notifyPeople(keyring, clock)
  const cards = cardPaymentsOf(config)
  const provider = cards && watchProvider(cards, metrics)
  const balances: Loop = {
    name: 'balance alerts',
    everyMs: 30_000,
    needs: 'confirmed database',
    work: (mayGoOn) => checkBalances({ db, clock, notify }, () => !mayGoOn()),
    failure: 'balances could not be compared with their low-balance alerts',
  }
  if (provider === undefined) return { loops: [balances], problem: () => undefined }
  const payments = createPaymentWorker({ db, clock, log, provider, notify })
  const reconcile = createReconciliation({ db, log, provider, settle: payments.settle })
  return {
    problem: provider.problem,
    loops: [
      balances,
      {
        name: 'payments',
        // A customer who returns from paying checks the balance.
        everyMs: 1_000,
        needs: 'confirmed database',
        async work(mayGoOn) {
          await payments.applyEvents(() => !mayGoOn())
          await payments.lookAtTopUps(() => !mayGoOn())
        },
        failure: 'payment events and open top-ups could not be read',
      },
      {
        name: 'reconciliation',
        everyMs: 60_000,
        needs: 'trusted time',
        work: (mayGoOn) => reconcile(() => !mayGoOn()),
        failure: 'card money could not be compared with the payment provider; it will be retried',
      },
    ],
  }
}
