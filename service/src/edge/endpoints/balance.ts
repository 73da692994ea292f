import { readBalance } from '../../ledger/transfer.ts'
import type { Queryable } from '../../platform/database/db.ts'
import { answer, endpoint } from './endpoint.ts'

export const getBalance = (db: Queryable) =>
  endpoint('getBalance', async ({ caller }) =>
    answer(200, { balance_cents: await readBalance(db, caller.account_id), currency: 'USD' }),
  )
