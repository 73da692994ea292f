import { type AuditEntry, recordAction } from './audit.ts'
import type { Tx } from './db.ts'

/** The result of an action, and what the audit log says about it. Never a secret or a link. */
export interface Acted<Result> extends Pick<AuditEntry, 'target' | 'details'> {
  readonly result: Result
  /** Runs after the audit row is written: ends the person's own access to the account. */
  readonly last?: () => Promise<unknown>
}

/** Does the work and writes its audit row in the transaction it is called in, so that both are committed or neither. */
export async function act<Result>(
  tx: Tx,
  who: Omit<AuditEntry, 'target' | 'details'>,
  work: () => Promise<Acted<Result>>,
): Promise<Result> {
  const { result, target, details, last } = await work()
  await recordAction(tx, { ...who, target, ...(details && { details }) })
  await last?.()
  return result
}
