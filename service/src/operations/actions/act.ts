import type { Tx } from '../../platform/database/db.ts'

/** The result of an action, with its target and details for the audit log. */
export interface ActionResult<Result> {
  readonly result: Result
  readonly target: string
  readonly details?: Record<string, unknown>
}

/** Runs an action in one transaction with its audit record: both are committed, or neither. */
export type Act = <Result>(
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<ActionResult<Result>>,
) => Promise<Result>
