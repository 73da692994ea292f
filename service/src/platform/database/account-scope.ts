import { type Db, sql, type Tx } from './db.ts'

/**
 * Runs `work` in one transaction that can see and change rows of this account only. The database enforces it by row-level security
 * for the role of the dashboard; for the application's own role the setting has no effect.
 */
export function inAccount<Result>(
  db: Db,
  account_id: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await enterAccount(tx, account_id)
    return work(tx)
  })
}

/** From here to its end the transaction is limited to this account; with null, to none. */
export const enterAccount = (tx: Tx, account_id: string | null) =>
  tx.run(sql`select set_config('shopwire.account_id', ${account_id ?? ''}, true)`)
