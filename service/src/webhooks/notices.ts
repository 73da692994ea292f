import { type Db, type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import type { EndpointKey } from './delivery-queries.ts'

export interface Notice {
  readonly id: string
  readonly kind: 'webhook.failing' | 'webhook.given_up'
  readonly details: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

export interface Trouble {
  readonly account_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly isGivenUp: boolean
}

/** Percentages of failed attempts at which a notice is written; each once until the next success. */
const LEVELS = [100, 90, 70, 50] as const
/** Computed over this many of the latest attempts; with fewer than the minimum there is no notice yet. */
const ATTEMPTS_LOOKED_AT = 20
const ATTEMPTS_MIN = 10
/** So many events are looked through for attempts that were accepted at once. */
const EVENTS_LOOKED_AT = 1_000
/** At most one notice per hour for events that are given up. */
const GIVEN_UP_EVERY_MS = 3_600_000

/** Call it after a failed attempt: writes a notice if a new threshold is reached. */
export function noticeTrouble(db: Db, trouble: Trouble, nowMs: number): Promise<void> {
  const { account_id, endpoint_id, event_id, isGivenUp } = trouble
  return db.transaction(async (tx) => {
    // Attempts of one endpoint fail concurrently; the lock makes sure that only one of them writes the notice.
    await tx.run(sql`
      select id
        from webhook_endpoints
       where account_id = ${account_id}
         and id = ${endpoint_id}
         for no key update`)
    const { failed, attempts } = await selectRecent(tx, trouble)
    const percent = attempts < ATTEMPTS_MIN ? 0 : Math.floor((100 * failed) / attempts)
    const level = LEVELS.find((each) => percent >= each)
    if (level !== undefined && (await raiseAlert(tx, trouble, level)) > 0) {
      await insertNotice(tx, account_id, 'webhook.failing', { endpoint_id, percent: level, attempts }, nowMs)
    }
    if (isGivenUp && !(await wasToldSince(tx, account_id, new Date(nowMs - GIVEN_UP_EVERY_MS)))) {
      await insertNotice(tx, account_id, 'webhook.given_up', { endpoint_id, event_id }, nowMs)
    }
  })
}

/** Newest first. */
export const listNotices = (db: Queryable, account_id: string, limit: number) =>
  db.many<Notice>(sql`
    select id, kind, details, created_at
      from notices
     where account_id = ${account_id}
     order by id desc
     limit ${limit}`)

/** The latest attempts at an endpoint, at most twenty, and how many of them failed. */
export const selectRecent = (tx: Tx, { account_id, endpoint_id }: EndpointKey) =>
  tx.one<{ failed: number; attempts: number }>(sql`
    select count(*) filter (where error is not null) as failed, count(*) as attempts
      from (select error
              from ((select error, finished_at
                       from delivery_attempts
                      where account_id = ${account_id}
                        and endpoint_id = ${endpoint_id}
                      order by finished_at desc
                      limit ${ATTEMPTS_LOOKED_AT})
                    union all
                    -- Accepted at once, of the latest events.
                    (select null, first_finished_at
                       from (select endpoint_id, first_finished_at
                               from deliveries
                              where account_id = ${account_id}
                              order by account_id desc, event_id desc
                              limit ${EVENTS_LOOKED_AT}) latest
                      where endpoint_id = ${endpoint_id}
                        and first_finished_at is not null
                      order by first_finished_at desc
                      limit ${ATTEMPTS_LOOKED_AT})) both_kinds
             order by finished_at desc
             limit ${ATTEMPTS_LOOKED_AT}) recent`)

/** Returns a row if this level is worse than the last one reported. */
const raiseAlert = (tx: Tx, { account_id, endpoint_id }: Trouble, level: number) =>
  tx.run(sql`
    update webhook_endpoints
       set alerted_percent = ${level}
     where account_id = ${account_id}
       and id = ${endpoint_id}
       and ended_at is null
       and alerted_percent < ${level}`)

const wasToldSince = (tx: Tx, account_id: string, since: Date) =>
  tx.maybeOne(sql`
    select id
      from notices
     where account_id = ${account_id}
       and kind = 'webhook.given_up'
       and created_at > ${since}
     limit 1`)

const insertNotice = (
  tx: Tx,
  account_id: string,
  kind: Notice['kind'],
  details: Notice['details'],
  nowMs: number,
) =>
  tx.run(sql`
    insert into notices (account_id, id, kind, details, created_at)
    values (${account_id}, ${newId('ntc', nowMs)}, ${kind}, ${JSON.stringify(details)}, ${new Date(nowMs)})`)
