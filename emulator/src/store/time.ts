import { type Db, type Operator, type Queryable, refuse, sql } from '@shopwire/service/embedded'
import type { TimeAdvanced } from '../types.ts'

const ADVANCE_S_MAX = 366 * 86_400

export type Time = ReturnType<typeof createTime>

/**
 * Advances everything that is scheduled, without changing a clock: due times move earlier by the skipped time. Times
 * that callers have already seen stay, and so does what is measured against the clock: rate limits, nonces,
 * timestamps of requests.
 */
export function createTime(db: Db, operator: () => Operator) {
  const skips: { readonly atMs: number; readonly ms: number }[] = []
  return {
    /** How much was skipped since a given time; for schedules that are kept in memory. */
    skippedSinceMs: (thenMs: number) =>
      skips.reduce((sum, { atMs, ms }) => (atMs >= thenMs ? sum + ms : sum), 0),

    async advance(seconds: unknown): Promise<TimeAdvanced> {
      if (!Number.isSafeInteger(seconds) || Number(seconds) < 1 || Number(seconds) > ADVANCE_S_MAX)
        throw refuse('invalid_request', `advance_s is a whole number of seconds from 1 to ${ADVANCE_S_MAX}.`)
      const s = Number(seconds)
      const sales = await selectSalesToEnd(db)
      await keepQuiet(db, sales.length)
      for (const { id, available_until } of sales) {
        const until = new Date(available_until.getTime() - s * 1000).toISOString()
        await operator().setItem(id, { available_until: until })
      }
      skips.push({ atMs: Date.now(), ms: s * 1000 })
      const deliveries = await db.transaction(async (tx) => {
        await shiftSecrets(tx, s)
        await shiftAnnouncement(tx, s)
        // Endpoints are locked first, as everywhere, so an attempt is recorded before or after this change, not during it.
        await lockEndpoints(tx)
        await shiftAttempts(tx, s)
        const shifted = await shiftDeliveries(tx, s)
        await shiftJobs(tx, s)
        return shifted
      })
      return { advanced_s: s, deliveries, sales: sales.length }
    },
  }
}

const selectSalesToEnd = (db: Queryable) =>
  db.many<{ id: string; available_until: Date }>(sql`
    select id, available_until
      from items
     where available_until > clock_timestamp()
     order by id`)

/** Skipping time changes no item for callers, so the following revisions count as already announced. */
const keepQuiet = (db: Queryable, changes: number) =>
  db.run(sql`
    update catalogue_announcement a
       set revision = s.revision + ${changes}
      from catalogue_state s
     where a.revision = s.revision
       and a.told_up_to is null`)

const shiftSecrets = (tx: Queryable, s: number) =>
  tx.run(sql`
    update webhook_secrets
       set ends_at = ends_at - ${s} * interval '1 s'
     where ends_at > clock_timestamp()`)

const shiftAnnouncement = (tx: Queryable, s: number) =>
  tx.run(sql`
    update catalogue_announcement
       set begun_at = begun_at - ${s} * interval '1 s'`)

const lockEndpoints = (tx: Queryable) =>
  tx.many(sql`
    select id
      from webhook_endpoints
     where ended_at is null
     order by account_id, id
       for no key update`)

/** Attempts of pending deliveries move too, so the time between two attempts stays the same. */
const shiftAttempts = (tx: Queryable, s: number) =>
  tx.run(sql`
    with taken as (
      delete from delivery_attempts a
       using deliveries d
       where d.account_id = a.account_id
         and d.endpoint_id = a.endpoint_id
         and d.event_id = a.event_id
         and d.state = 'pending'
      returning a.account_id, a.endpoint_id, a.event_id, a.round, a.n, a.started_at, a.finished_at, a.status, a.error,
                a.remote_address
    )
    insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error,
                                   remote_address)
    select account_id, endpoint_id, event_id, round, n, started_at - ${s} * interval '1 s',
           finished_at - ${s} * interval '1 s', status, error, remote_address
      from taken`)

const shiftDeliveries = (tx: Queryable, s: number) =>
  tx.run(sql`
    update deliveries
       set created_at = created_at - ${s} * interval '1 s',
           next_at = next_at - ${s} * interval '1 s',
           first_started_at = first_started_at - ${s} * interval '1 s',
           first_finished_at = first_finished_at - ${s} * interval '1 s'
     where state = 'pending'`)

/** A leased job is woken again afterwards: its worker may have computed a due time before this change. */
const shiftJobs = (tx: Queryable, s: number) =>
  tx.run(sql`
    update jobs
       set run_at = run_at - ${s} * interval '1 s',
           is_woken = is_woken or leased_until is not null
     where run_at < 'infinity'`)
