import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database/db.ts'
import type { Notify } from '../platform/mail/notify.ts'
import type { Log } from '../platform/observability/log.ts'
import { newId } from '../platform/text/ids.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import {
  decideEvent,
  lockUndecided,
  type PaymentEventRow,
  postponeEvents,
  selectDueSubjects,
  selectUndecided,
} from './event-queries.ts'
import type { PaymentProvider, ReadPayment } from './provider.ts'
import {
  countAnswer,
  lockTopUp,
  postponeLook,
  selectToLookAt,
  selectTopUp,
  selectTopUpOfPayment,
  type TopUp,
  updateLookAt,
  updateTopUp,
} from './queries.ts'
import { closeReviews, insertReview } from './review-queries.ts'
import { settlePayment } from './settle-payment.ts'

export interface PaymentWorkerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly provider: PaymentProvider
  readonly notify: Notify
}

export interface PaymentWorker {
  /** Checks every payment and page that has a due event, and returns how many there were. */
  applyEvents(isStopped?: () => boolean): Promise<number>
  /** Checks top-ups for which no event came, and those that an operator has decided. Returns how many there were. */
  lookAtTopUps(isStopped?: () => boolean): Promise<number>
  /** Updates the ledger to what the provider reports about one payment. */
  settle(payment: string): Promise<void>
}

const BATCH = 50
const RETRY_MS = 30_000
const RETRY_MS_MAX = 3_600_000
/** Stripe repeats events for three days; by then the page has expired, and the daily reconciliation has compared the payment. */
const EVENT_MS_MAX = 3 * 86_400_000
/** The provider may report a refund in an event before its list contains it. */
const LISTED_MS_MAX = 10 * 60_000
const POLL_EVERY_MS = 15 * 60_000
/** Each time, another worker has applied a later answer. */
const QUESTIONS_MAX = 5

/**
 * Keeps the ledger equal to what payment providers report. An event only triggers a query: the answer is booked, for the whole
 * payment, so a repeated, reordered, lost or invented event moves no money. An answer is applied only if no later one was.
 */
export function createPaymentWorker({ db, clock, log, provider, notify }: PaymentWorkerDeps): PaymentWorker {
  async function applyEvents(isStopped = () => false): Promise<number> {
    let subjects = 0
    for (;;) {
      const due = await selectDueSubjects(db, BATCH)
      for (const { subject } of due) {
        if (isStopped()) return subjects
        const waiting = await selectUndecided(db, provider.name, subject)
        await attempt(subject, waiting, () => askAbout(subject, waiting))
        subjects += 1
      }
      if (due.length < BATCH) return subjects
    }
  }

  /** One that fails must not delay the others. */
  async function attempt(
    subject: string,
    waiting: readonly PaymentEventRow[],
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Refusal) {
        await db.transaction(async (tx) => {
          await decide(tx, waiting, 'applied', error.message)
          await review(tx, subject, error.message)
        })
        log.error({ subject, err: error }, NEEDS_A_PERSON)
        return
      }
      await postponeEvents(db, provider.name, idsOf(waiting), RETRY_MS)
      log[error instanceof Unavailable ? 'warn' : 'error'](
        { subject, err: error },
        'a payment could not be read from the payment provider; it will be retried',
      )
    }
  }

  /** While the provider does not answer at all, the others would fail too. */
  async function attemptAlone(payment: string): Promise<void> {
    try {
      await settle(payment, [])
    } catch (error) {
      if (error instanceof Unavailable) throw error
      const what = error instanceof Error ? error.message : String(error)
      await db.transaction((tx) => review(tx, payment, `${payment} could not be compared: ${what}`))
      log.error({ subject: payment, err: error }, NEEDS_A_PERSON)
    }
  }

  async function askAbout(subject: string, waiting: readonly PaymentEventRow[]): Promise<void> {
    const page = waiting.find(({ facts }) => facts.page)?.facts.page
    if (page === undefined) return settle(subject, waiting)
    const top_up = await selectTopUp(db, page.account_id, page.top_up_id)
    if (top_up?.provider_session === page.session) return lookAt(top_up, waiting)
    const note = top_up
      ? `${top_up.id} is paid on another page than ${page.session}`
      : `No account ${page.account_id} has a top-up ${page.top_up_id}`
    await db.transaction((tx) => review(tx, page.session, note))
    // Whatever the event reports: the payment is settled as the provider reports it now.
    if (subject !== page.session) return settle(subject, waiting)
    await db.transaction((tx) => decide(tx, waiting, 'applied', note))
  }

  /** `waiting` are the events known before the query; its answer does not decide events that arrived later. */
  async function settle(payment: string, waiting: readonly PaymentEventRow[], named?: TopUp): Promise<void> {
    let known = named ?? (await selectTopUpOfPayment(db, provider.name, payment))
    for (let questions = 0; questions < QUESTIONS_MAX; questions += 1) {
      const read = await provider.readPayment(payment)
      const payer = read?.payer
      if (!payer) return notOurs(payment, known, waiting)
      if (known?.id === payer.top_up_id && known.account_id === payer.account_id) {
        if (await applyAnswer(known, read, waiting)) return
      }
      // Only now is it known whose payment it is, or another answer was applied: this one may be older.
      known = await selectTopUp(db, payer.account_id, payer.top_up_id)
      if (!known) {
        const note = `${payment} was paid for the top-up ${payer.top_up_id} of ${payer.account_id}, which is not in this store`
        await db.transaction(async (tx) => {
          await decide(tx, waiting, 'applied', note)
          await keepReviews(tx, payment, read.isPaid ? [note] : [])
        })
        return
      }
    }
    throw new Unavailable('payments', new Error(`${payment} is being settled by another worker`))
  }

  /** False: another answer was applied since the query. */
  const applyAnswer = (asked: TopUp, read: ReadPayment, waiting: readonly PaymentEventRow[]) =>
    db.transaction(async (tx) => {
      const events = await lockUndecided(tx, provider.name, idsOf(waiting))
      const top_up = await lockTopUp(tx, asked.account_id, asked.id)
      if (top_up?.answers !== asked.answers) return false
      const nowMs = clock.nowMs()
      const isAwaited = top_up.state === 'pending' && !read.isPaid
      for (const event of events) await decideBy(tx, event, read, isAwaited, nowMs)
      const found = await settlePayment(tx, top_up, read, notify, nowMs)
      await countAnswer(tx, top_up)
      await keepReviews(tx, read.payment, found, top_up)
      return true
    })

  async function decideBy(
    tx: Tx,
    event: PaymentEventRow,
    read: ReadPayment,
    isAwaited: boolean,
    nowMs: number,
  ): Promise<void> {
    const ageMs = nowMs - event.received_at.getTime()
    const { reference } = event.facts
    const isMissing =
      reference !== undefined && !read.reversals.some((reversal) => reversal.reference === reference)
    if ((isAwaited && ageMs < EVENT_MS_MAX) || (isMissing && ageMs < LISTED_MS_MAX)) {
      await postponeEvents(
        tx,
        provider.name,
        [event.event_id],
        Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, ageMs)),
      )
      return
    }
    const note = isMissing ? `The provider has no ${reference} of ${read.payment}` : null
    await decideEvent(tx, event, 'applied', note)
    if (note !== null) await review(tx, event.event_id, note)
  }

  async function notOurs(payment: string, known: TopUp | undefined, waiting: readonly PaymentEventRow[]) {
    const note = `${known?.id} was paid by ${payment}, which the provider does not list as a payment of this store`
    await db.transaction(async (tx) => {
      await decide(tx, waiting, 'ignored', `${payment} is no payment of this store`)
      await keepReviews(tx, payment, known ? [note] : [], known)
    })
  }

  async function lookAtTopUps(isStopped = () => false): Promise<number> {
    let looked = 0
    for (const top_up of await selectToLookAt(db, provider.name, BATCH)) {
      if (isStopped()) break
      // Before the query, so that a top-up that always fails comes last the next time.
      await postponeLook(db, top_up, POLL_EVERY_MS)
      await attempt(top_up.provider_session ?? top_up.id, [], () => lookAt(top_up, []))
      looked += 1
    }
    return looked
  }

  /** Reads the page of a top-up, and the payment that was made there. */
  async function lookAt(top_up: TopUp, waiting: readonly PaymentEventRow[]): Promise<void> {
    const session = top_up.provider_session ?? ''
    let page = await provider.readSession(session)
    if (page?.state === 'open' && (top_up.state === 'credited' || top_up.state === 'rejected')) {
      await provider.endSession(session)
      page = await provider.readSession(session)
    }
    const payment = page?.payment ?? null
    if (payment !== null) await settle(payment, waiting, top_up)
    await db.transaction(async (tx) => {
      if (payment === null) await decide(tx, waiting, 'applied')
      const now = await lockTopUp(tx, top_up.account_id, top_up.id)
      if (!now) return
      const isOpen = now.state === 'pending'
      const decided_at = new Date(clock.nowMs())
      const note = `The provider has no page ${session}`
      if (page === null && isOpen) await updateTopUp(tx, now, { state: 'review', decided_at, note })
      if (isOpen && (page?.state === 'expired' || page?.state === 'failed'))
        await updateTopUp(tx, now, { state: page.state, decided_at })
      const isAwaited =
        isOpen && (page?.state === 'open' || page?.state === 'processing' || page?.state === 'paid')
      await updateLookAt(tx, now, isAwaited ? POLL_EVERY_MS : null)
    })
  }

  const decide = async (
    tx: Tx,
    waiting: readonly PaymentEventRow[],
    state: 'applied' | 'ignored',
    note: string | null = null,
  ) => {
    for (const event of await lockUndecided(tx, provider.name, idsOf(waiting)))
      await decideEvent(tx, event, state, note)
  }

  const review = (tx: Tx, subject: string, note: string, top_up?: TopUp) =>
    insertReview(tx, {
      id: newId('rvw', clock.nowMs()),
      provider: provider.name,
      subject,
      note: note.slice(0, NOTE_LENGTH_MAX),
      account_id: top_up?.account_id ?? null,
      top_up_id: top_up?.id ?? null,
    })

  /** Opens the differences found now, and closes earlier ones that no longer exist. */
  async function keepReviews(
    tx: Tx,
    subject: string,
    notes: readonly string[],
    top_up?: TopUp,
  ): Promise<void> {
    await closeReviews(tx, provider.name, subject, notes)
    for (const note of notes) await review(tx, subject, note, top_up)
    if (notes.length > 0) log.warn({ subject, notes }, NEEDS_A_PERSON)
  }

  return {
    applyEvents,
    lookAtTopUps,
    settle: attemptAlone,
  }
}

const NOTE_LENGTH_MAX = 500
const NEEDS_A_PERSON = 'a payment needs a decision by an operator: see "shopwire-admin topups list"'

const idsOf = (events: readonly PaymentEventRow[]) => events.map(({ event_id }) => event_id)
