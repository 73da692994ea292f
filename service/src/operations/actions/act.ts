import type { Acted } from '../../platform/database/act.ts'
import type { Tx } from '../../platform/database/db.ts'

/** Runs an action in one transaction with its audit record, so that both are committed or neither is. */
export type Act = <Result>(
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<Acted<Result>>,
) => Promise<Result>
