import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import { type Asked, askProvider } from './ask-provider.ts'
import type { Notify } from './notify.ts'
import type { PaidSession, PaymentFact, PaymentProvider } from './provider.ts'
import {
  decideEvent,
  lockTopUp,
  lockTopUpOfPayment,
  lockUndecided,
  type PaymentEventRow,
  postponeEvents,
  selectDueSubjects,
  selectUndecided,
  selectUnheard,
  type TopUp,
  updateChecked,
  updateTopUp,
} from './queries.ts'
import { giveBack, takeBack } from './reversal.ts'
import { credit } from './top-up.ts'

export interface PaymentWorkerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly provider: PaymentProvider
  readonly notify: Notify
}

export interface PaymentWorker {
  /** Applies every event that is due and returns how many payments they were about. */
  applyEvents(isStopped?: () => boolean): Promise<number>
  /** Asks the provider about top-ups that no event came for, and returns how many were settled. */
  askAboutUnheard(): Promise<number>
}

const BATCH = 50
const RETRY_MS = 30_000
const RETRY_MS_MAX = 3_600_000
/** Stripe repeats events for three days; one that fits nothing by then is not about a top-up. */
const PATIENCE_MS = 3 * 86_400_000
const UNHEARD_AFTER_MS = 5 * 60_000
const ASK_EVERY_MS = 15 * 60_000
const CURRENCY = 'usd'

type Verdict =
  | { readonly state: 'applied' | 'ignored' | 'review'; readonly note: string | null }
  /** It cannot be applied yet: what it is about has not happened here. */
  | { readonly state: 'later'; readonly note: string }

const APPLIED: Verdict = { state: 'applied', note: null }

/**
 * Credits and takes back what payment providers reported. An event is only a reason to look: before any booking the provider is asked,
 * so neither a repeated nor an invented event moves money. All events of one payment are applied in one transaction, credits first, so
 * their order does not matter either.
 */
export function createPaymentWorker(deps: PaymentWorkerDeps): PaymentWorker {
  const { db, clock, log, provider, notify } = deps

  async function applyEvents(isStopped = () => false): Promise<number> {
    let payments = 0
    for (;;) {
      const due = await selectDueSubjects(db, BATCH)
      for (const { subject } of due) {
        if (isStopped()) return payments
        await applySubject(subject)
        payments += 1
      }
      if (due.length < BATCH) return payments
    }
  }

  async function applySubject(subject: string): Promise<void> {
    try {
      const waiting = await selectUndecided(db, provider.name, subject)
      const asked = await askProvider(
        provider,
        waiting.map(({ facts }) => facts),
      )
      await db.transaction((tx) => applyAll(tx, subject, asked))
    } catch (error) {
      if (error instanceof Refusal) {
        const decided_at = new Date(clock.nowMs())
        log.error({ subject, err: error }, 'a payment needs a person: see "shopwire-admin topups list"')
        await db.transaction(async (tx) => {
          for (const event of await lockUndecided(tx, provider.name, subject))
            await decideEvent(tx, event, 'review', error.message, decided_at)
        })
        return
      }
      // One payment that fails must not hold up the others.
      await postponeEvents(db, provider.name, subject, RETRY_MS)
      const isAway = error instanceof Unavailable
      log[isAway ? 'warn' : 'error'](
        { subject, err: error },
        'a payment event could not be applied; it is retried',
      )
    }
  }

  async function applyAll(tx: Tx, subject: string, asked: Asked): Promise<void> {
    const nowMs = clock.nowMs()
    const events = await lockUndecided(tx, provider.name, subject)
    const inOrder = events.toSorted((a, b) => ORDER[a.facts.kind] - ORDER[b.facts.kind])
    let waitMs: number | undefined
    for (const event of inOrder) {
      const verdict = await apply(tx, event, asked, nowMs)
      const ageMs = nowMs - event.received_at.getTime()
      if (verdict.state === 'later' && ageMs < PATIENCE_MS) {
        waitMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, ageMs))
        continue
      }
      const state = verdict.state === 'later' ? 'ignored' : verdict.state
      await decideEvent(tx, event, state, verdict.note, new Date(nowMs))
      if (state !== 'applied')
        log.warn({ event_id: event.event_id, state, why: verdict.note }, 'a payment event')
    }
    if (waitMs !== undefined) await postponeEvents(tx, provider.name, subject, waitMs)
  }

  async function apply(
    tx: Tx,
    { facts: fact, subject }: PaymentEventRow,
    asked: Asked,
    nowMs: number,
  ): Promise<Verdict> {
    if (fact.kind === 'unclear') return { state: 'review', note: fact.what }
    if (fact.kind === 'paid' || fact.kind === 'ended') {
      const top_up = await lockTopUp(tx, fact.account_id, fact.top_up_id)
      if (!top_up)
        return { state: 'review', note: `No account ${fact.account_id} has a top-up ${fact.top_up_id}` }
      if (top_up.provider_session !== fact.session)
        return { state: 'review', note: `${top_up.id} is paid on another page than ${fact.session}` }
      if (fact.kind === 'paid') return asked.session ? settle(tx, top_up, asked.session, nowMs) : NOT_READ
      if (top_up.state !== 'pending')
        return { state: 'ignored', note: `${top_up.id} is ${top_up.state} already` }
      await updateTopUp(tx, top_up, { state: fact.how, decided_at: new Date(nowMs) })
      return APPLIED
    }
    const top_up = await lockTopUpOfPayment(tx, provider.name, subject)
    if (!top_up) return { state: 'later', note: `No top-up was paid by ${subject}` }
    const isRefund = fact.kind === 'refunded'
    const reference = isRefund ? fact.charge : fact.dispute
    const known = isRefund ? asked.charges.get(reference) : asked.disputes.get(reference)
    if (known === undefined) return NOT_READ
    if (known?.payment !== subject)
      return { state: 'review', note: `The provider knows no ${reference} of ${subject}` }
    if (fact.kind === 'dispute-won') {
      if (!('state' in known) || known.state !== 'won')
        return { state: 'later', note: `The dispute ${fact.dispute} is not won at the provider` }
      const returned = await giveBack(tx, top_up, fact.dispute, notify, nowMs)
      return returned ? APPLIED : { state: 'later', note: `The dispute ${fact.dispute} was never reported` }
    }
    if ('state' in known && known.state === 'inquiry')
      return { state: 'ignored', note: `${reference} is an inquiry` }
    if (known.currency !== CURRENCY) return { state: 'review', note: `Taken back in ${known.currency}` }
    const { owed_cents } = await takeBack(
      tx,
      top_up,
      {
        kind: isRefund ? 'refund' : 'dispute',
        amount_cents: 'refunded_cents' in known ? known.refunded_cents : known.amount_cents,
        provider_reference: reference,
      },
      notify,
      nowMs,
    )
    if (owed_cents > 0)
      log.error(
        { account_id: top_up.account_id, top_up_id: top_up.id, owed_cents },
        'more was taken back than the balance held; the account is suspended',
      )
    return APPLIED
  }

  /** Brings a locked top-up to what the provider says about its page. */
  async function settle(tx: Tx, top_up: TopUp, session: PaidSession, nowMs: number): Promise<Verdict> {
    const decided_at = new Date(nowMs)
    if (top_up.state === 'credited') return { state: 'applied', note: `${top_up.id} was credited before` }
    if (top_up.state === 'rejected' || top_up.state === 'review')
      return {
        state: 'review',
        note: `${top_up.id} is ${top_up.state}, and ${session.session} is ${session.state}`,
      }
    if (session.session !== top_up.provider_session) return NOT_READ
    if (session.account_id !== top_up.account_id || session.top_up_id !== top_up.id)
      return {
        state: 'review',
        note: `${session.session} belongs to ${session.account_id} ${session.top_up_id}`,
      }
    if (session.state !== 'paid' || session.payment === null)
      return { state: 'later', note: `${session.session} is ${session.state} at the provider` }
    if (session.amount_cents !== top_up.amount_cents || session.currency !== CURRENCY) {
      const note = `${session.amount_cents} ${session.currency} cents were paid, ${top_up.amount_cents} ${CURRENCY} cents were asked for`
      await updateTopUp(tx, top_up, { state: 'review', decided_at, provider_payment: session.payment, note })
      return { state: 'review', note }
    }
    const { payment, amount_cents } = session
    await credit(
      tx,
      top_up,
      { amount_cents, reference: `${provider.name}:${payment}`, payment },
      notify,
      nowMs,
    )
    log.info({ account_id: top_up.account_id, top_up_id: top_up.id, amount_cents }, 'a top-up was credited')
    return APPLIED
  }

  async function askAboutUnheard(): Promise<number> {
    const nowMs = clock.nowMs()
    const unheard = await selectUnheard(
      db,
      new Date(nowMs - UNHEARD_AFTER_MS),
      new Date(nowMs - ASK_EVERY_MS),
      BATCH,
    )
    let settled = 0
    for (const { account_id, id, provider_session } of unheard) {
      const session = await provider.readSession(provider_session)
      await updateChecked(db, account_id, id, new Date(nowMs))
      if (session.state !== 'paid' && session.state !== 'expired') continue
      await db.transaction(async (tx) => {
        const top_up = await lockTopUp(tx, account_id, id)
        if (top_up?.state !== 'pending') return
        if (session.state === 'paid') await settle(tx, top_up, session, clock.nowMs())
        else await updateTopUp(tx, top_up, { state: 'expired', decided_at: new Date(clock.nowMs()) })
        settled += 1
      })
    }
    return settled
  }

  return { applyEvents, askAboutUnheard }
}

/** The event came after the provider was asked; the next run asks again. */
const NOT_READ: Verdict = { state: 'later', note: 'The provider was not asked yet' }

const ORDER: Readonly<Record<PaymentFact['kind'], number>> = {
  paid: 0,
  ended: 1,
  refunded: 2,
  disputed: 3,
  'dispute-won': 4,
  unclear: 5,
}
