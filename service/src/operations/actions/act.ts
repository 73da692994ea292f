import type { Acted } from '../../platform/database/act.ts'
import type { Tx } from '../../platform/database/db.ts'

/** Runs an action in one transaction with its audit record: both are committed, or neither. */
export type Act = <Result>(
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<Acted<Result>>,
) => Promise<Result>
