import { type Queryable, sql } from '../platform/database/db.ts'
import type { Transfer, TransferKind } from './queries.ts'

/** Null or left out: any. */
export interface TransferFilter {
  readonly kind?: TransferKind | undefined
  readonly min_cents?: number | undefined
  readonly max_cents?: number | undefined
}

/**
 * The position of the first transfer at or after each instant, by bisection over the primary key: an index by time would have to be
 * written by every order. Positions follow the clock except for requests that waited for the balance's lock, so the last step of
 * the search covers more transfers than an account can make during such a wait; the result is then the same however long the
 * statement has grown since.
 */
export const selectBoundaries = (db: Queryable, account_id: string, instants: readonly Date[]) =>
  db.many<{ seq: number }>(sql`
    with recursive search (n, at, low, high) as (
      select i.n, i.at, 1::bigint, b.transfer_count + 1
        from balances b
       cross join unnest(${instants}::timestamptz[]) with ordinality as i (at, n)
       where b.account_id = ${account_id}
       union all
      select s.n, s.at,
             case when t.created_at >= s.at then s.low else t.seq + 1 end,
             case when t.created_at >= s.at then t.seq else s.high end
        from search s
       cross join lateral (
         -- The limit keeps the planner from joining whole tables at every step.
         select x.seq, x.created_at
           from transfers x
          where x.account_id = ${account_id}
            and x.seq = (s.low + s.high) / 2
          limit 1
       ) t
       where s.low < s.high
    )
    select coalesce(earlier.seq, s.low) as seq
      from search s
      left join lateral (
        select min(t.seq) as seq
          from transfers t
         where t.account_id = ${account_id}
           and t.seq >= s.low - 200
           and t.seq < s.low
           and t.created_at >= s.at
      ) earlier on true
     where s.low = s.high
     order by s.n`)

export const selectBalancesAfter = (db: Queryable, account_id: string, seqs: readonly number[]) =>
  db.many<{ seq: number; balance_after_cents: number }>(sql`
    select seq, balance_after_cents
      from transfers
     where account_id = ${account_id}
       and seq = any(${seqs}::bigint[])`)

export interface MovementSum {
  /** Counted from 1. */
  readonly period: number
  readonly kind: TransferKind
  readonly change_cents: number
  readonly count: number
}

/** Sums of everything but orders between each two positions. */
export const selectMovementSums = (db: Queryable, account_id: string, seqs: readonly number[]) =>
  db.many<MovementSum>(sql`
    select width_bucket(t.seq, ${seqs}::bigint[]) as period, t.kind,
           sum(t.change_cents)::bigint as change_cents,
           count(*) as count
      from transfers t
     where t.account_id = ${account_id}
       and t.kind <> 'order'
       and t.kind = any('{funding,refund,adjustment}')
       and t.seq >= ${seqs[0] ?? 1}
       and t.seq < ${seqs.at(-1) ?? 1}
     group by 1, 2`)

export function selectTransfersBetween(
  db: Queryable,
  account_id: string,
  { from_seq, to_seq, newestFirst }: { from_seq: number; to_seq: number; newestFirst: boolean },
  { kind, min_cents, max_cents }: TransferFilter,
  limit: number,
) {
  // Two statements, because the planner uses the small index for the rare kinds only when the text excludes orders.
  if (kind !== undefined && kind !== 'order') {
    return db.many<Transfer>(sql`
      select account_id, seq, 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
        from transfers
       where account_id = ${account_id}
         and kind <> 'order'
         and kind = ${kind}
         and seq >= ${from_seq}
         and seq < ${to_seq}
         and (${min_cents ?? null}::bigint is null or abs(change_cents) >= ${min_cents ?? null})
         and (${max_cents ?? null}::bigint is null or abs(change_cents) <= ${max_cents ?? null})
       order by case when ${newestFirst} then -seq else seq end
       limit ${limit}`)
  }
  return newestFirst
    ? db.many<Transfer>(sql`
      select account_id, seq, 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
        from transfers
       where account_id = ${account_id}
         and seq >= ${from_seq}
         and seq < ${to_seq}
         and (${kind ?? null}::text is null or kind = ${kind ?? null})
         and (${min_cents ?? null}::bigint is null or abs(change_cents) >= ${min_cents ?? null})
         and (${max_cents ?? null}::bigint is null or abs(change_cents) <= ${max_cents ?? null})
       order by seq desc
       limit ${limit}`)
    : db.many<Transfer>(sql`
      select account_id, seq, 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
        from transfers
       where account_id = ${account_id}
         and seq >= ${from_seq}
         and seq < ${to_seq}
         and (${kind ?? null}::text is null or kind = ${kind ?? null})
         and (${min_cents ?? null}::bigint is null or abs(change_cents) >= ${min_cents ?? null})
         and (${max_cents ?? null}::bigint is null or abs(change_cents) <= ${max_cents ?? null})
       order by seq
       limit ${limit}`)
}
