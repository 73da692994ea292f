import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { startStripe } from '@shopwire/test-kit/receivers/stripe'
import type { StripeReversal, StripeSession } from '@shopwire/test-kit/receivers/stripe-merchant'
import type { Member } from '../src/dashboard/member.ts'
import { type MoneyDeps, moneyArea } from '../src/dashboard/money/money.ts'
import { paymentsFamily } from '../src/edge/payments/payments-family.ts'
import { createEdge } from '../src/edge/server.ts'
import { createPaymentWorker } from '../src/funding/payment-worker.ts'
import type { PaymentProvider } from '../src/funding/provider.ts'
import { watchProvider } from '../src/funding/provider-watch.ts'
import { createReconciliation } from '../src/funding/reconcile.ts'
import { stripeEvents, stripeProvider } from '../src/funding/stripe.ts'
import { INVARIANTS } from '../src/installation.ts'
import { createOperator } from '../src/operations/operator.ts'
import { readRules, verifyData } from '../src/operations/verify.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import type { Letter } from '../src/platform/mail/letter.ts'
import type { Notify } from '../src/platform/mail/notify.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createAttempts } from '../src/sessions/attempts.ts'
import { openTestDatabase } from './database.ts'
import { memberAct } from './member.ts'
import { testKeyring } from './shop.ts'

export const ORIGIN = 'https://dashboard.example'
export const BANK = [{ label: 'IBAN', value: 'GB33BUKB20201555555555' }]

const log = createLog('silent')
const MADE = { refund: 'refund.created', dispute: 'charge.dispute.created' } as const

export type FundingShop = Awaited<ReturnType<typeof openFunding>>

/**
 * Money coming in, as it is connected in production: the dashboard's handlers and the route for events, the worker and the operator, each
 * with its login, and Stripe's stand-in over HTTP.
 */
export async function openFunding(options: { readonly clock?: Clock } = {}) {
  const clock = options.clock ?? systemClock
  const database = await openTestDatabase()
  const letters: { kind: string; letter: Letter; emails: readonly string[] }[] = []
  const notify: Notify = async (_tx, _account_id, kind, letter, outside) =>
    void letters.push({ kind, letter, emails: outside?.emails ?? [] })
  const stripe = await startStripe()
  const secrets = [stripe.secret(), 'whsec_of_next_month']
  const metrics = createMetrics('test')
  const provider = watchProvider(
    stripeProvider({ secretKey: 'sk_test_1', apiUrl: stripe.url, origin: ORIGIN }),
    metrics,
  )
  const operator = createOperator(
    {
      db: database.operator,
      keyring: testKeyring(),
      clock,
      cell: 'c1',
      admission: async () => ({ announce: async () => {} }) as never,
      notify,
      payments: async () => provider,
    },
    'test',
  )
  const edge = createEdge({ log, metrics, connectionsMax: 1_000, connectionsPerAddressMax: 1_000 }, [
    paymentsFamily({ db: database.dashboard, clock, stripe: stripeEvents(secrets) }),
  ])
  await edge.listen({ host: '127.0.0.1', port: 0 })
  const eventsUrl = `http://127.0.0.1:${(edge.server.address() as AddressInfo).port}/payments/stripe`
  stripe.sendTo(eventsUrl)
  const funding: MoneyDeps['funding'] = {
    bank: BANK,
    card: provider,
    min_cents: 1_00,
    max_cents: 1_000_000_00,
    contact: 'billing@example.com',
  }
  const area = moneyArea({
    db: database.dashboard,
    act: memberAct(database, clock),
    funding,
    keyring: testKeyring(),
    origin: ORIGIN,
    attempts: createAttempts(database.dashboard, createSecretKey(randomBytes(32))),
  })
  const worker = createPaymentWorker({ db: database.worker, clock, log, provider, notify })
  const reconcile = createReconciliation({ db: database.worker, log, provider, settle: worker.settle })
  const account = await operator.createAccount('Acme Bots')

  const memberOf = (account_id = account.id, role: Member['role'] = 'owner'): Member => ({
    person_id: 'per_1',
    person_name: 'Ada Lovelace',
    email: 'ada@example.com',
    account_id,
    role,
    session_id: 'ses_1',
    address: '192.0.2.1',
    request_id: 'req_1',
  })
  const call = <Rest extends object>(rest: Rest, account_id?: string) => ({
    member: memberOf(account_id),
    id: '',
    query: undefined,
    body: undefined,
    nowMs: clock.nowMs(),
    ...rest,
  })

  return {
    database,
    clock,
    operator,
    stripe,
    provider,
    metrics,
    notify,
    letters,
    eventsUrl,
    area,
    funding,
    worker,
    reconcile,
    account,
    memberOf,
    call,

    async post({ body, signature }: { body: string; signature: string }): Promise<number> {
      const headers = { 'stripe-signature': signature, 'content-type': 'application/json' }
      const response = await fetch(eventsUrl, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.status
    },

    async start(amount_cents: number, account_id = account.id, provider_name: 'bank' | 'stripe' = 'stripe') {
      const body = { provider: provider_name, amount_cents, attempt: randomUUID() }
      const started = await area.startTopUp(call({ body }, account_id) as never)
      const session = [...stripe.sessions.values()].find(
        ({ client_reference_id }) => client_reference_id === started.top_up.id,
      ) as StripeSession
      return { ...started, session }
    },

    async topUp(id: string, account_id = account.id) {
      return (await area.getTopUp(call({ id }, account_id) as never)).top_up
    },

    async balance(account_id = account.id): Promise<number> {
      return (await operator.showAccount(account_id)).balance_cents
    },

    /** Another worker, with another clock or a provider that answers otherwise. */
    workerWith: (other: { readonly clock?: Clock; readonly provider?: Partial<PaymentProvider> }) =>
      createPaymentWorker({
        db: database.worker,
        clock: other.clock ?? clock,
        log,
        notify,
        provider: { ...provider, ...other.provider },
      }),

    /** Rules about money and data that do not hold. */
    async violated() {
      const findings = await verifyData(database.operator, await readRules(INVARIANTS), () => {})
      return findings.filter(({ violations }) => violations > 0)
    },

    /** Reports a refund or a dispute of the stand-in, as Stripe does when it was made. */
    report(reversal: StripeReversal, type: string = MADE[reversal.object]): Promise<number> {
      return this.post(stripe.event(type, reversal))
    },

    /** As if so much time had gone by for whatever the database has a time for. */
    async pass(ms: number): Promise<void> {
      await database.asOwner(`
        update payment_events set next_at = next_at - ${ms} * interval '1 ms', received_at = received_at - ${ms} * interval '1 ms';
        update top_ups set look_at = look_at - ${ms} * interval '1 ms';
        update payment_reconciliations set due_at = due_at - ${ms} * interval '1 ms'`)
    },

    async close() {
      await edge.close()
      await stripe.close()
      await database.close()
    },
  }
}
