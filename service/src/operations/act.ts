import type { Tx } from '../platform/db.ts'

/** What an action did: its result, what it was done to, and what the audit log should remember besides. */
export interface ActionResult<Result> {
  readonly result: Result
  readonly target: string
  readonly details?: Record<string, unknown>
}

/** Runs an action in one transaction with its audit row: neither is ever there without the other. */
export type Act = <Result>(
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<ActionResult<Result>>,
) => Promise<Result>
