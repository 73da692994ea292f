import { sql, type Tx } from '../platform/database/db.ts'
import { nextRevision } from './queries.ts'

/** Records whether an item can be delivered. Creates a new revision only when that changes. */
export async function markSupply(tx: Tx, item_id: string, has_supply: boolean, nowMs: number): Promise<void> {
  const differs = await tx.maybeOne(sql`
    select id
      from items
     where id = ${item_id}
       and has_supply <> ${has_supply}`)
  if (!differs) return
  const { revision } = await nextRevision(tx, new Date(nowMs))
  await tx.run(sql`
    update items
       set has_supply = ${has_supply},
           revision = ${revision}
     where id = ${item_id}`)
}
