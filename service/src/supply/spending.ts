import { sql, type Tx } from '../platform/database/db.ts'

const MINUTE_MS = 60_000
const WINDOW_MS = 60 * MINUTE_MS

/** A supplier's hourly limit would be exceeded. Thrown inside the transaction that records the request, which is rolled back. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached'
}

/**
 * Counts a new request towards the supplier's hourly limit, if it has one, and throws when that would be exceeded. The supplier's row is
 * locked until the commit, so all workers together stay within the limit. The hour is the last 60 minutes and the part of a
 * minute before them.
 */
export async function countSpending(tx: Tx, supplier: string, cents: number | null, at: Date): Promise<void> {
  const limited = await tx.maybeOne<{ hourly_limit_cents: number }>(sql`
    select hourly_limit_cents
      from suppliers
     where name = ${supplier}
       and hourly_limit_cents is not null
       for no key update`)
  if (!limited) return
  if (cents === null)
    throw new LimitReached(
      'it has an hourly limit and the item has no cost: supply set <item> --cost <cents>',
    )
  const { spent } = await tx.one<{ spent: number }>(sql`
    select coalesce(sum(cents), 0)::bigint as spent
      from supplier_spending
     where supplier = ${supplier}
       and minute >= ${minuteOf(at.getTime() - WINDOW_MS)}`)
  const { hourly_limit_cents: limit } = limited
  if (spent + cents > limit)
    throw new LimitReached(`its hourly limit of ${limit} cents is reached: ${spent} cents requested`)
  await tx.run(sql`
    delete from supplier_spending
     where supplier = ${supplier}
       and minute < ${minuteOf(at.getTime() - WINDOW_MS)}`)
  await tx.run(sql`
    insert into supplier_spending as s (supplier, minute, cents)
    values (${supplier}, ${minuteOf(at.getTime())}, ${cents})
        on conflict (supplier, minute) do update
       set cents = s.cents + excluded.cents`)
}

/** Counts the last hour's requests, for a limit that was set just now. The supplier's row must be locked. */
export async function recountSpending(tx: Tx, supplier: string, nowMs: number): Promise<void> {
  await tx.run(sql`
    delete from supplier_spending
     where supplier = ${supplier}`)
  await tx.run(sql`
    insert into supplier_spending (supplier, minute, cents)
    select supplier, date_trunc('minute', first_at), sum(unit_cost_cents * qty)
      from supplier_requests
     where supplier = ${supplier}
       and coalesce(ended_at, first_at) >= ${minuteOf(nowMs - WINDOW_MS)}
       and first_at >= ${minuteOf(nowMs - WINDOW_MS)}
       and stage not in ('refused', 'unsent')
       and unit_cost_cents is not null
     group by supplier, date_trunc('minute', first_at)`)
}

const minuteOf = (ms: number) => new Date(ms - (ms % MINUTE_MS))
