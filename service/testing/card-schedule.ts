import type {
  StripePayment,
  StripeReversal,
  StripeSession,
} from '@shopwire/test-kit/receivers/stripe-merchant'
import { Refusal } from '../src/platform/trouble.ts'
import type { FundingShop } from './funding.ts'
import type { Random } from './random.ts'

const STEPS_MAX = 24
const AMOUNTS = [500, 1_000, 2_500]

const STEPS = {
  'open a page': 4,
  pay: 6,
  'pay another amount': 1,
  'expire a page': 1,
  refund: 4,
  'settle a refund': 2,
  dispute: 2,
  'settle a dispute': 3,
  'confirm by wire': 2,
  'confirm the card payment': 2,
  reject: 1,
  spend: 4,
  fund: 1,
  'write off': 1,
  close: 1,
  'deliver events': 6,
  work: 6,
  'work twice at once': 2,
}

/** What one schedule did, for a report of what went wrong. */
export interface CardSchedule {
  readonly account_id: string
  readonly steps: readonly string[]
}

/**
 * One account that pays by card and by wire, spends and closes, while payments are refunded and disputed at the provider and its events
 * are lost, late, repeated and out of order. What it leaves is for a comparison of everything to settle.
 */
export async function runCardSchedule(shop: FundingShop, random: Random): Promise<CardSchedule> {
  const { stripe, operator, worker } = shop
  const { id: account_id } = await operator.createAccount('Cards')
  const steps: string[] = []
  const sessions: { top_up_id: string; session: StripeSession }[] = []
  const reversals: StripeReversal[] = []
  let waiting: [type: string, object: object][] = []
  let made = 0
  let isClosed = false

  const happened = (type: string, object: object) => {
    // A third of all events never come.
    if (random.chance(0.67)) waiting.push([type, { ...object }])
  }
  const paid = () => sessions.filter(({ session }) => session.payment_intent !== null)
  const left = (session: StripeSession) =>
    [...stripe.refunds.values()]
      .filter(
        ({ payment_intent, status }) => payment_intent === session.payment_intent && status !== 'failed',
      )
      .reduce((rest, { amount }) => rest - amount, paymentOf(shop, session).amount_received)
  /** What the store refuses is no fault of it. */
  const tried = async (what: string, work: () => Promise<unknown>) => {
    steps.push(what)
    await work().catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
      steps.push(`  refused: ${error.message}`)
    })
  }

  const acts: Record<keyof typeof STEPS, () => Promise<void>> = {
    async 'open a page'() {
      if (isClosed) return
      const amount = random.pick(AMOUNTS)
      await tried(`open a page for ${amount}`, async () => {
        const { top_up, session } = await shop.start(amount, account_id)
        sessions.push({ top_up_id: top_up.id, session })
      })
    },
    pay: () => pay(0),
    'pay another amount': () => pay(random.pick([-1, 100])),
    async 'expire a page'() {
      const open = sessions.filter(({ session }) => session.status === 'open')
      if (open.length === 0) return
      const { session } = random.pick(open)
      steps.push(`${session.id} expires`)
      session.status = 'expired'
      happened('checkout.session.expired', session)
    },
    async refund() {
      const refundable = paid().filter(({ session }) => left(session) > 0)
      if (refundable.length === 0) return
      const { session } = random.pick(refundable)
      const refund = stripe.refund(
        session,
        1 + random.below(left(session)),
        random.pick(['succeeded', 'pending', 'succeeded']),
      )
      steps.push(`refund ${refund.id} of ${refund.amount}, ${refund.status}`)
      reversals.push(refund)
      happened('refund.created', refund)
      happened('charge.refunded', stripe.chargeOf(session))
    },
    async 'settle a refund'() {
      const open = reversals.filter(({ object, status }) => object === 'refund' && status !== 'failed')
      if (open.length === 0) return
      const refund = random.pick(open)
      refund.status = random.pick(['failed', 'succeeded'])
      steps.push(`refund ${refund.id} ${refund.status}`)
      happened(refund.status === 'failed' ? 'refund.failed' : 'refund.updated', refund)
    },
    async dispute() {
      if (paid().length === 0) return
      const { session } = random.pick(paid())
      const amount = random.chance(0.7) ? session.amount_total : 1 + random.below(session.amount_total)
      const dispute = stripe.dispute(
        session,
        amount,
        random.pick(['needs_response', 'warning_needs_response']),
      )
      steps.push(`dispute ${dispute.id} of ${amount}, ${dispute.status}`)
      reversals.push(dispute)
      happened('charge.dispute.created', dispute)
      happened('charge.dispute.funds_withdrawn', dispute)
    },
    async 'settle a dispute'() {
      const open = reversals.filter(
        ({ object, status }) => object === 'dispute' && !['won', 'lost'].includes(status),
      )
      if (open.length === 0) return
      const dispute = random.pick(open)
      dispute.status = dispute.status.startsWith('warning')
        ? random.pick(['warning_closed', 'needs_response'])
        : random.pick(['won', 'lost', 'under_review'])
      steps.push(`dispute ${dispute.id} ${dispute.status}`)
      happened('charge.dispute.closed', dispute)
      if (dispute.status === 'won') happened('charge.dispute.funds_reinstated', dispute)
    },
    async 'confirm by wire'() {
      if (sessions.length === 0) return
      const { top_up_id } = random.pick(sessions)
      made += 1
      const reference = `wire ${made} of ${account_id}`
      await tried(`confirm ${top_up_id} by ${reference}`, () =>
        operator.confirmTopUp(top_up_id, { amount_cents: random.pick(AMOUNTS), reference }),
      )
    },
    async 'confirm the card payment'() {
      if (paid().length === 0) return
      const { top_up_id, session } = random.pick(paid())
      const { amount_received: amount_cents } = paymentOf(shop, session)
      await tried(`confirm ${top_up_id} by card`, () =>
        operator.confirmTopUp(top_up_id, {
          amount_cents,
          reference: `stripe:${session.payment_intent}`,
          although_taken_back: true,
        }),
      )
    },
    async reject() {
      if (sessions.length === 0) return
      const { top_up_id } = random.pick(sessions)
      await tried(`reject ${top_up_id}`, () => operator.rejectTopUp(top_up_id, 'test'))
    },
    async spend() {
      const balance = await shop.balance(account_id)
      if (balance === 0) return
      made += 1
      const change_cents = -(random.chance(0.5) ? balance : 1 + random.below(balance))
      await tried(`spend ${-change_cents}`, () =>
        operator.adjustAccount(account_id, {
          change_cents,
          reference: `spent ${made}`,
          note: 'as if orders',
        }),
      )
    },
    async fund() {
      made += 1
      const reference = `fund ${made} of ${account_id}`
      const amount_cents = random.pick(AMOUNTS)
      await tried(`fund ${amount_cents}`, () => operator.fundAccount(account_id, { amount_cents, reference }))
    },
    async 'write off'() {
      const owed = (await operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)
      const [first] = owed
      if (first) await tried(`write off ${first.id}`, () => operator.writeOffReceivable(first.id, 'test'))
    },
    close: () =>
      tried('close', async () => {
        await operator.closeAccount(account_id, 'test')
        isClosed = true
      }),
    async 'deliver events'() {
      const some = waiting.filter(() => random.chance(0.6))
      waiting = waiting.filter((event) => !some.includes(event) || random.chance(0.2))
      if (random.chance(0.5)) some.reverse()
      for (const [type, object] of some) {
        steps.push(`event ${type}`)
        await shop.post(stripe.event(type, object))
      }
    },
    work: () => work(1),
    'work twice at once': () => work(2),
  }

  async function pay(more_cents: number): Promise<void> {
    const open = sessions.filter(({ session }) => session.status === 'open')
    if (open.length === 0) return
    const { session } = random.pick(open)
    stripe.pay(session.id)
    const payment = paymentOf(shop, session)
    payment.amount_received += more_cents
    steps.push(`${session.id} is paid with ${payment.amount_received} as ${payment.id}`)
    happened('checkout.session.completed', session)
  }

  async function work(workers: number): Promise<void> {
    steps.push(`work of ${workers}`)
    await Promise.all(
      Array.from({ length: workers }, async () => {
        await worker.applyEvents()
        await worker.lookAtTopUps()
      }),
    )
  }

  for (let n = 0; n < STEPS_MAX; n += 1) await acts[random.weighted(STEPS)]()
  return { account_id, steps }
}

const paymentOf = ({ stripe }: FundingShop, { payment_intent }: StripeSession) =>
  stripe.payments.get(String(payment_intent)) as StripePayment

/** Payments about which the provider and the ledger differ although nobody is asked to decide it, of all accounts, and debts beside a balance. */
export async function unexplained(shop: FundingShop): Promise<{ account_id: string; what: string }[]> {
  const { rows } = await readLedger(shop)
  const { reviews } = await shop.operator.listTopUps(100_000)
  const found: { account_id: string; what: string }[] = []
  for (const payment of shop.stripe.payments.values()) {
    const { account_id = '', top_up_id } = payment.metadata
    const taken = [...shop.stripe.refunds.values(), ...shop.stripe.disputes.values()]
      .filter(({ payment_intent, status }) => payment_intent === payment.id && isTaken(status))
      .reduce((sum, { amount }) => sum + amount, 0)
    const [booked, inReview] = [
      Number(rows.find(({ reference }) => reference === `stripe:${payment.id}`)?.net_cents ?? 0),
      reviews.some(({ subject }) => subject === payment.id) ||
        rows.some((row) => row.top_up_id === top_up_id && row.state === 'review'),
    ]
    // Of what a person was to decide at first and then credited nothing, nothing is kept once all of it was taken back.
    const kept = payment.amount_received - taken
    if (booked !== kept && !inReview && !(booked === 0 && kept <= 0))
      found.push({
        account_id,
        what: `${payment.id} of ${top_up_id}: ${kept} at the provider, ${booked} in the ledger`,
      })
  }
  for (const { account_id, owed_cents } of await shop.operator.listReceivables(100_000))
    if ((await shop.balance(account_id)) > 0)
      found.push({ account_id, what: `${owed_cents} are owed and the balance is not 0` })
  return found
}

const isTaken = (status: string) =>
  !['failed', 'canceled', 'won', 'warning_needs_response', 'warning_closed'].includes(status)

interface LedgerRow {
  readonly top_up_id: string | null
  readonly state: string | null
  readonly reference: string | null
  readonly net_cents: string
}

/** What is left of every card payment by the ledger's own rows, and the state of every top-up. */
async function readLedger({ database }: FundingShop): Promise<{ rows: LedgerRow[] }> {
  const rows = await database.owner.many<LedgerRow>({
    name: 'card_ledger',
    text: `
      select t.id as top_up_id, t.state, f.reference,
             coalesce(f.change_cents, 0) - coalesce((select sum(r.amount_cents)
                                                       from top_up_reversals r
                                                      where r.account_id = t.account_id
                                                        and r.top_up_id = t.id
                                                        and r.returned_at is null), 0) as net_cents
        from top_ups t
        left join transfers f on f.account_id = t.account_id and f.seq = t.credited_seq`,
    values: [],
  })
  return { rows }
}
