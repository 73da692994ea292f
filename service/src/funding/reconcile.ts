import type { Db } from '../platform/database/db.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Listed, ListedOne, PaymentProvider } from './provider.ts'
import {
  beginReconciliation,
  claimReconciliation,
  endReconciliation,
  insertReconciliation,
  markCompared,
  type Progress,
  type Reconciliation,
  releaseReconciliation,
  saveReconciliation,
  selectCreditsOf,
  selectReversalsNamed,
  selectUncompared,
} from './reconcile-queries.ts'

export interface ReconcileDeps {
  readonly db: Db
  readonly log: Log
  readonly provider: PaymentProvider
  /** Updates the ledger to what the provider reports about one payment, or leaves the difference to an operator. */
  settle(payment: string): Promise<void>
}

const STAGES: readonly Stage[] = ['payments', 'refunds', 'disputes', 'ledger']
const LEDGER_BATCH = 100

type Stage = NonNullable<Reconciliation['stage']>

/**
 * Compares everything that the provider has with everything that the ledger has, once a day and after a recovery: payments, refunds
 * and disputes by their creation time at the provider, then entries of the ledger that the provider did not list. A difference is
 * settled like an event. Resumes where it was stopped. Call it every minute; returns false when nothing was due.
 */
export function createReconciliation({ db, log, provider, settle }: ReconcileDeps) {
  async function compareListed(what: Listed, run: Reconciliation): Promise<Progress> {
    const { found, next } = await provider.list(what, {
      from: run.read_from,
      until: run.read_until,
      after: run.after_id ?? undefined,
    })
    const ours = found.filter(({ payer }) => payer !== undefined)
    const differing = what === 'payments' ? await uncredited(ours) : await unbooked(ours)
    for (const payment of differing) await settle(payment)
    return { compared: found.length, asked: differing.size, after_id: next ?? null }
  }

  async function uncredited(ours: readonly ListedOne[]): Promise<Set<string>> {
    const credits = await selectCreditsOf(
      db,
      provider.name,
      ours.map(({ payment }) => payment),
    )
    const isEqual = ({ payment, amount_cents }: ListedOne) =>
      credits.some((credit) => credit.provider_payment === payment && credit.credited_cents === amount_cents)
    await markCompared(
      db,
      provider.name,
      ours.filter(isEqual).map(({ payment }) => payment),
    )
    return new Set(ours.filter((one) => !isEqual(one)).map(({ payment }) => payment))
  }

  async function unbooked(ours: readonly ListedOne[]): Promise<Set<string>> {
    const booked = await selectReversalsNamed(
      db,
      ours.map(({ reference }) => reference),
    )
    const isEqual = ({ reference, status, amount_cents }: ListedOne) =>
      booked.some(
        (reversal) =>
          reversal.provider_reference === reference &&
          reversal.provider_status === status &&
          reversal.provider_cents === amount_cents,
      )
    return new Set(ours.filter((one) => !isEqual(one)).map(({ payment }) => payment))
  }

  /** Credits that the provider did not list, and refunds and disputes of any age that may still change. */
  async function compareLedger(run: Reconciliation): Promise<Progress> {
    const rows = await selectUncompared(db, provider.name, run, LEDGER_BATCH)
    for (const { provider_payment } of rows) {
      await settle(provider_payment)
      await markCompared(db, provider.name, [provider_payment])
    }
    const isLast = rows.length < LEDGER_BATCH
    return { compared: rows.length, asked: rows.length, after_id: isLast ? null : 'more' }
  }

  return async function reconcile(isStopped = () => false): Promise<boolean> {
    await insertReconciliation(db, provider.name)
    let run = await claimReconciliation(db, provider.name)
    if (!run) return false
    try {
      if (run.stage === null) run = await beginReconciliation(db, provider.name)
      while (!isStopped()) {
        const stage = run.stage as Stage
        const progress = stage === 'ledger' ? await compareLedger(run) : await compareListed(stage, run)
        const next = progress.after_id === null ? STAGES[STAGES.indexOf(stage) + 1] : stage
        if (next === undefined) {
          await endReconciliation(db, provider.name, progress)
          log.info(
            { compared: run.compared + progress.compared, asked: run.asked + progress.asked },
            'all card money was compared with the payment provider',
          )
          return true
        }
        run = await saveReconciliation(db, provider.name, next, progress)
      }
    } finally {
      await releaseReconciliation(db, provider.name)
    }
    return true
  }
}
