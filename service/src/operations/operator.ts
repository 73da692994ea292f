import type { Clock } from '../platform/clock.ts'
import { act } from '../platform/database/act.ts'
import type { Db } from '../platform/database/db.ts'
import { type ReEncryptReport, reEncryptColumn } from '../platform/encryption/re-encrypt.ts'
import { acceptClock } from '../platform/jobs/clock-watch.ts'
import { type Removal, releaseRemoval } from '../platform/jobs/removal-limit.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { createLinkVault } from '../supply/gift-link.ts'
import type { Journal } from '../supply/journal.ts'
import { type AccountActionDeps, accountActions } from './actions/account-actions.ts'
import type { Act } from './actions/act.ts'
import { catalogueActions } from './actions/catalogue-actions.ts'
import { type FundingActionDeps, fundingActions } from './actions/funding-actions.ts'
import { jobActions } from './actions/job-actions.ts'
import { orderActions } from './actions/order-actions.ts'
import { type PeopleActionDeps, peopleActions } from './actions/people-actions.ts'
import { recoveryActions } from './actions/recovery-actions.ts'
import { supplierActions } from './actions/supplier-actions.ts'
import { supplyActions } from './actions/supply-actions.ts'
import { webhookActions } from './actions/webhook-actions.ts'
import { notifyPeople } from './notify-people.ts'
import { operatorTokenActions } from './operator-tokens.ts'
import { createReads } from './reads/index.ts'
import { SEALED_COLUMNS } from './sealed-columns.ts'

// For admin/, which may not import from access/ and has to explain this error.
export { AdmissionMismatchError } from '../access/admission-in-use.ts'

export interface OperatorDeps extends AccountActionDeps, PeopleActionDeps {
  readonly db: Db
  readonly clock: Clock
  /** Instead of mail to the members of an account. */
  readonly notify?: Notify
  /** Access to the payment provider, if this program may use it. */
  readonly payments?: FundingActionDeps['payments']
  /** Access to suppliers; when absent, by the built-in fetch without an egress proxy. */
  readonly fetch?: typeof globalThis.fetch
  /** The journal of sold links, if the store keeps one. */
  readonly journal?: Journal | undefined
}

export type Operator = ReturnType<typeof createOperator>

/** Everything an operator may do and read. Every action is one transaction with its audit row, whatever program it came from. */
export function createOperator(deps: OperatorDeps, actor: string) {
  const { db, clock, keyring } = deps
  const vault = createLinkVault(db, keyring)

  const actAsOperator: Act = (action, work) =>
    db.transaction((tx) => act(tx, { actor, action }, () => work(tx, clock.nowMs())))

  return {
    ...createReads(db),
    ...accountActions(deps, actAsOperator),
    ...catalogueActions(actAsOperator),
    ...fundingActions(
      { db, notify: deps.notify ?? notifyPeople(keyring, clock), payments: deps.payments },
      actAsOperator,
    ),
    ...jobActions(actAsOperator),
    ...orderActions(db, vault, deps.journal, actAsOperator),
    ...operatorTokenActions(actor, actAsOperator),
    ...peopleActions(deps, actAsOperator),
    ...recoveryActions(db, vault, actor, actAsOperator),
    ...supplierActions({ db, keyring, vault, clock, fetch: deps.fetch ?? fetch }, actAsOperator),
    ...supplyActions(db, vault, clock, actAsOperator),
    ...webhookActions(keyring, actAsOperator),

    /** The clock of the database jumped, and an operator confirms that it is right now. */
    acceptClock: (reason: string): Promise<{ now: Date }> =>
      actAsOperator('clock.accept', async (tx) => {
        const result = await acceptClock(tx)
        return { result, target: 'clock', details: { reason, now: result.now.toISOString() } }
      }),

    /** Returns when removal had stopped; null when it had not. */
    releaseRemoval: (kind: Removal, reason: string): Promise<{ held_at: Date | null }> =>
      actAsOperator('removals.release', async (tx) => {
        const result = await releaseRemoval(tx, kind)
        return {
          result,
          target: 'removals',
          details: { kind, reason, held_at: result.held_at?.toISOString() ?? null },
        }
      }),

    /** Continues past rows that cannot be decrypted; the report names each of them. */
    async reEncryptSecrets(report: ReEncryptReport): Promise<{ re_encrypted: number; unopened: number }> {
      let re_encrypted = 0
      let unopened = 0
      for (const column of SEALED_COLUMNS) {
        re_encrypted += await reEncryptColumn(db, keyring, column, {
          ...report,
          onProgress: (table, done) => report.onProgress?.(table, re_encrypted + done),
          onUnopened(row) {
            unopened += 1
            report.onUnopened(row)
          },
        })
      }
      return actAsOperator('encryption.re-encrypt', async () => ({
        result: { re_encrypted, unopened },
        target: keyring.activeKekId,
        details: { re_encrypted, unopened },
      }))
    },
  }
}
