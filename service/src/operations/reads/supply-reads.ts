import { type Db, sql } from '../../platform/database/db.ts'
import { readSupplierStatement, selectBalances } from '../../supply/house-ledger.ts'
import { requestId } from '../../supply/obligation.ts'
import { countPoolLinks, selectSetAside, selectSupplies } from '../../supply/queries.ts'
import { selectOpenRequests } from '../../supply/request-queries.ts'
import { listSuppliers } from '../../supply/suppliers.ts'

/** Where links come from, and what we owe for them. */
export function supplyReads(db: Db) {
  return {
    listSupplies: (limit: number, after: string) => selectSupplies(db, after, limit),

    listSetAside: (limit: number) => selectSetAside(db, limit),

    countPoolLinks: (item_id: string, isSetAside: boolean) => countPoolLinks(db, item_id, isSetAside),

    listSuppliers: () => listSuppliers(db),

    /** Requests that were sent to a supplier and have no final answer. */
    async listOpenRequests(limit: number) {
      const requests = await selectOpenRequests(db, limit)
      return requests.map((request) => ({ id: requestId(request), ...request }))
    },

    /** What we owe to each supplier. */
    listSupplierBalances: () => selectBalances(db, null),

    /** In one snapshot, so that the sums match the rows. */
    readSupplierStatement: (name: string, month: string) =>
      db.transaction(async (tx) => {
        await tx.run(sql`set transaction isolation level repeatable read, read only`)
        return readSupplierStatement(tx, name, month)
      }),
  }
}
