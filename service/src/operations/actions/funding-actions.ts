import type { PaymentProvider } from '../../funding/provider.ts'
import { selectTopUp, selectTopUpNamed, type TopUp } from '../../funding/queries.ts'
import { requestReconciliation } from '../../funding/reconcile-queries.ts'
import { parseReference } from '../../funding/reference.ts'
import { writeOff } from '../../funding/reversal.ts'
import { selectReceivables } from '../../funding/reversal-queries.ts'
import { decideReview, type Review } from '../../funding/review-queries.ts'
import { takenCents } from '../../funding/settle-payment.ts'
import { type Credited, confirmTopUp, rejectTopUp } from '../../funding/top-up.ts'
import type { Db, Queryable } from '../../platform/database/db.ts'
import type { Notify } from '../../platform/mail/notify.ts'
import { dollars } from '../../platform/text/format.ts'
import { refuse } from '../../platform/trouble.ts'
import type { Act } from './act.ts'

const RECEIVABLES_MAX = 1_000

export interface FundingActionDeps {
  readonly db: Db
  readonly notify: Notify
  /** Undefined if no cards are accepted, or if this program has no key for them. */
  readonly payments?: (() => Promise<PaymentProvider | undefined>) | undefined
}

export interface Confirmed {
  readonly amount_cents: number
  readonly reference: string
  /** Credits a card payment although the provider has taken some of it back: a worker deducts that within seconds. */
  readonly although_taken_back?: boolean | undefined
}

/** What an operator does about top-ups and about what accounts owe. */
export function fundingActions({ db, notify, payments }: FundingActionDeps, act: Act) {
  /** A card payment that waited for an operator may have been refunded or disputed meanwhile. */
  async function assertNotTakenBack(named: string): Promise<void> {
    const provider = await payments?.()
    if (!provider) return
    const { account_id, id } = await findTopUp(db, named)
    const { provider_payment = null, state } = (await selectTopUp(db, account_id, id)) ?? {}
    if (provider_payment === null || state === 'credited') return
    const taken_cents = takenCents((await provider.readPayment(provider_payment))?.reversals ?? [])
    if (taken_cents === 0) return
    throw refuse(
      'conflict',
      `${dollars(taken_cents)} of ${provider_payment} were refunded or are disputed. Nothing was booked. Refund the rest and reject ${id}, or ` +
        'repeat the command with --although-taken-back: it is credited, and a worker takes that much back within seconds.',
    )
  }

  return {
    /** `named` is the id of the top-up or its reference, as the customer wrote it in the transfer. */
    async confirmTopUp(named: string, { although_taken_back, ...arrived }: Confirmed): Promise<Credited> {
      // Before the transaction: no transaction may be open while the provider answers.
      if (!although_taken_back) await assertNotTakenBack(named)
      return act('top_up.confirm', async (tx, nowMs) => {
        const which = await findTopUp(tx, named)
        const result = await confirmTopUp(tx, which, arrived, notify, nowMs)
        const { transfer_id, isNew, collected_cents } = result
        return {
          result,
          target: which.id,
          details: { account_id: which.account_id, ...arrived, transfer_id, isNew, collected_cents },
        }
      })
    },

    rejectTopUp: (named: string, reason: string): Promise<TopUp> =>
      act('top_up.reject', async (tx, nowMs) => {
        const which = await findTopUp(tx, named)
        const result = await rejectTopUp(tx, which, reason, nowMs)
        return { result, target: which.id, details: { account_id: which.account_id, reason } }
      }),

    /** Books nothing: what was necessary was done before, here or at the provider. */
    decideReview: (id: string, reason: string): Promise<Review> =>
      act('payment_review.decide', async (tx) => {
        const result = await decideReview(tx, id)
        if (!result)
          throw refuse(
            'not_found',
            `No payment waits for an operator's decision under ${id}. See "shopwire-admin topups list".`,
          )
        return { result, target: id, details: { ...result, reason } }
      }),

    /** The workers start within a minute. */
    reconcilePayments: (): Promise<void> =>
      act('payments.reconcile', async (tx) => {
        await requestReconciliation(tx)
        return { result: undefined, target: 'payments' }
      }),

    writeOffReceivable: (id: string, reason: string) =>
      act('receivable.write_off', async (tx) => {
        const owed = (await selectReceivables(tx, RECEIVABLES_MAX)).find((row) => row.id === id)
        if (!owed) throw refuse('not_found', `Nothing is owed under ${id}. See "shopwire-admin topups owed".`)
        const { account_id } = owed
        const result = { account_id, ...(await writeOff(tx, owed)) }
        return { result, target: id, details: { ...result, reason } }
      }),
  }
}

async function findTopUp(tx: Queryable, named: string) {
  const found = await selectTopUpNamed(tx, named, parseReference(named) ?? null)
  if (found) return found
  throw refuse(
    'not_found',
    `There is no top-up ${named}. Give its id, or the reference that the customer was told to use; "shopwire-admin topups list" has both.`,
  )
}
