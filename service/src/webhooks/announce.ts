import { CATALOGUE_CHANGED_INTERVAL_S_MIN } from '@shopwire/contract'
import { type Db, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { DELIVER_QUEUE } from './deliver-queue.ts'

/** So few that other statements wait only milliseconds for the database's processor. */
const CHUNK = 100

/**
 * Queues a catalogue.changed event for every endpoint, one chunk of accounts per call. Changes are combined: an announcement starts
 * at most once a minute and names the given revision, or the present one if that is older, because a failover or a restore may have
 * taken it back since it was read. Returns how many accounts were done; fewer than a chunk ends the announcement. Any number of
 * workers may call this; one of them does the work.
 */
export function announceCatalogue(db: Db, revision: number, nowMs: number): Promise<number> {
  return db.transaction(async (tx) => {
    const round = await takeRound(tx)
    if (!round) return 0
    if (round.told_up_to === null) {
      const isDue = nowMs >= round.begun_at.getTime() + CATALOGUE_CHANGED_INTERVAL_S_MIN * 1000
      const newest = Math.min(revision, round.present)
      if (!isDue || newest <= round.revision) return 0
      await tx.run(sql`
        update catalogue_announcement
           set revision = ${newest},
               begun_at = ${new Date(nowMs)},
               told_up_to = ''`)
      return announceChunk(tx, '', newest, nowMs)
    }
    return announceChunk(tx, round.told_up_to, round.revision, nowMs)
  })
}

export const ANNOUNCE_CHUNK = CHUNK

const takeRound = (tx: Tx) =>
  tx.maybeOne<{ revision: number; begun_at: Date; told_up_to: string | null; present: number }>(sql`
    select a.revision, a.begun_at, a.told_up_to, (select c.revision from catalogue_state c) as present
      from catalogue_announcement a
       for update of a skip locked`)

async function announceChunk(tx: Tx, after: string, revision: number, nowMs: number): Promise<number> {
  const endpoints = await tx.many<{ account_id: string; id: string }>(sql`
    select account_id, id
      from webhook_endpoints
     where ended_at is null
       and account_id > ${after}
     order by account_id, id
     limit ${CHUNK}
       for key share`)
  const accounts = endpoints.map(({ account_id }) => account_id)
  const now = new Date(nowMs)
  await tx.run(sql`
    with announced as (
      select account_id, endpoint_id, event_id
        from unnest(${accounts}::text[], ${endpoints.map(({ id }) => id)}::text[],
                    ${endpoints.map(() => newId('evt', nowMs))}::text[]) as t (account_id, endpoint_id, event_id)
    ), written as (
      insert into events (account_id, id, type, revision, created_at)
      select account_id, event_id, 'catalogue.changed', ${revision}::bigint, ${now}::timestamptz from announced
    ), queued as (
      insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
      select account_id, endpoint_id, event_id, ${now}::timestamptz, ${now}::timestamptz from announced
    )
    insert into jobs as j (account_id, queue, subject, run_at, is_backlog, created_at)
    select account_id, ${DELIVER_QUEUE}, endpoint_id, clock_timestamp(), true, ${now}::timestamptz
      from announced
     -- The order in which every transaction locks several jobs.
     order by account_id, endpoint_id collate "C"
        on conflict (queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true`)
  const last = endpoints.length === CHUNK ? (accounts.at(-1) ?? null) : null
  await tx.run(sql`
    update catalogue_announcement
       set told_up_to = ${last}`)
  return endpoints.length
}
