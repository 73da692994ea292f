import { type FailoverPolicy, readDatabaseState } from '../../platform/database/database-identity.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import { readWorkers } from '../../platform/jobs/worker-heartbeats.ts'
import { MAIL_QUEUE } from '../../platform/mail/mail-queue.ts'

/** The state of the store, from our own tables. */
export interface StoreData {
  readonly is_confirmed: boolean
  readonly journal_id: string | null
  readonly failover: FailoverPolicy
  readonly workers: { readonly alive: number; readonly last_seen_s: number | null }
  readonly is_open: boolean
  readonly closed_reason: string | null
  readonly verified_s_ago: number | null
  readonly rules_violated: number
  readonly pools_low: number
  readonly pools_empty: number
  readonly dead_letters: number
  readonly mail_waiting_s: number
}

export async function readStoreData(db: Queryable): Promise<StoreData> {
  const [state, workers, row] = await Promise.all([
    readDatabaseState(db),
    readWorkers(db),
    db.one<Omit<StoreData, 'is_confirmed' | 'journal_id' | 'failover' | 'workers'>>(sql`
      select store_is_open() as is_open, s.reason as closed_reason,
             extract(epoch from clock_timestamp() - v.finished_at)::float8 as verified_s_ago,
             coalesce(v.violated, 0) as rules_violated,
             p.pools_low, p.pools_empty,
             (select count(*)
                from jobs
               where run_at = 'infinity'
                 and dead_at is not null) as dead_letters,
             (select coalesce(greatest(extract(epoch from clock_timestamp() - min(created_at)), 0), 0)::float8
                from jobs
               where queue = ${MAIL_QUEUE}
                 and dead_at is null) as mail_waiting_s
        from store_state s
       cross join (select count(*) filter (where pool_left < warn_below) as pools_low,
                          count(*) filter (where pool_left = 0 and source = 'pool') as pools_empty
                     from item_supply
                    where source <> 'hand') p
        left join lateral (select finished_at, violated
                             from verify_runs
                            order by id desc
                            limit 1) v on true`),
  ])
  const { is_confirmed, journal_id, failover } = state
  return { is_confirmed, journal_id, failover, workers, ...row }
}
