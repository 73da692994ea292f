import { type Db, type Queryable, sql, type Tx } from '../../platform/database/db.ts'

/** What a caller uses. */
export const PARTS = ['buying', 'reading', 'delivery', 'webhooks'] as const
export type PartName = (typeof PARTS)[number]

/** As in the table: `planned` is closed by a planned closing, `unavailable` means that the database did not answer. */
export type StorePhase = 'open' | 'closed' | 'planned' | 'unconfirmed' | 'unavailable'

/** What callers met, as long as it did not change. */
export interface Condition {
  readonly store: StorePhase
  readonly reason: string | null
  /** In the order of PARTS. */
  readonly impaired: readonly PartName[]
}

export interface Period extends Condition {
  readonly started_at: Date
  readonly seen_until: Date
  /** No later one is known. */
  readonly isLast: boolean
}

export interface DaySeconds {
  /** Its first instant, in UTC. */
  readonly day: Date
  readonly closed_s: number
  readonly degraded_s: number
  readonly seen_s: number
}

export interface History {
  /** Oldest first, today last. */
  readonly days: readonly DaySeconds[]
  /** In which not all was well, newest first. */
  readonly periods: readonly Period[]
}

export const HISTORY_DAYS = 90
/** Longer than shown, so that a period is not removed while a page shows it. */
export const HISTORY_KEPT_DAYS = HISTORY_DAYS + 10
export const PERIODS_DELETE_CHUNK = 1_000
const PERIODS_MAX = 500
const DAY_MS = 86_400_000
/** Between two sightings nothing else is assumed for so long. A restart of the only worker takes less. */
export const GAP_MS_MAX = 150_000
/** Of one transaction that reads the last period and writes the next. */
const LOCK_ID = 5_348_094_775

/**
 * Extends the last period, or begins the next one when something changed. `since`: from when on the database itself knows that it is
 * so, such as the time at which an operator closed the store; it also fills a time in which no worker ran.
 */
export const recordCondition = (db: Db, condition: Condition, at: Date, since = at): Promise<void> =>
  db.transaction(async (tx) => {
    const last = await lockLast(tx)
    if (last && at <= last.started_at) return
    const began = since < at ? since : at
    const isUnbroken = last !== undefined && at.getTime() - last.seen_until.getTime() <= GAP_MS_MAX
    if (last && isSame(last, condition) && (isUnbroken || began <= last.seen_until)) {
      return void (await extend(tx, last, at))
    }
    if (!isUnbroken) return insert(tx, condition, latest(began, last), at)
    const changedAt = began > last.started_at ? began : at
    await shorten(tx, last, changedAt)
    await insert(tx, condition, changedAt, at)
  })

/** A worker notices a failure so much earlier or later than another. */
const NOTICED_MS_MAX = 10_000

/** What one worker saw and could not record, unless another recorded something meanwhile. */
export const recordMissed = (db: Db, condition: Condition, from: Date, until: Date): Promise<void> =>
  db.transaction(async (tx) => {
    const last = await lockLast(tx)
    if (last && last.seen_until.getTime() > from.getTime() + NOTICED_MS_MAX) return
    if (last && from.getTime() - last.seen_until.getTime() <= GAP_MS_MAX) await extend(tx, last, from)
    await insert(tx, condition, latest(from, last), until)
  })

export const OUTAGE: Condition = { store: 'unavailable', reason: null, impaired: [...PARTS] }

/** Of the last 90 days in UTC, with today. */
export async function readHistory(db: Queryable, nowMs: number): Promise<History> {
  const todayMs = nowMs - (nowMs % DAY_MS)
  const from = new Date(todayMs - (HISTORY_DAYS - 1) * DAY_MS)
  const [days, periods] = await Promise.all([selectDays(db, from, new Date(nowMs)), selectPeriods(db, from)])
  return { days, periods }
}

export const deleteOldPeriods = (db: Queryable, before: Date) =>
  db.run(sql`
    delete from status_periods
     where started_at in (select started_at
                            from status_periods
                           where started_at < ${before}
                             and seen_until < ${before}
                           order by started_at
                           limit ${PERIODS_DELETE_CHUNK})`)

/** Several workers write the same history. */
async function lockLast(tx: Tx): Promise<Period | undefined> {
  await tx.run(sql`select pg_advisory_xact_lock(${LOCK_ID})`)
  return tx.maybeOne<Period>(sql`
    select started_at, seen_until, store, reason, impaired, true as "isLast"
      from status_periods
     order by started_at desc
     limit 1`)
}

/** Not before the last period ended, which may have been seen only once. */
const latest = (wanted: Date, last: Period | undefined) =>
  last === undefined
    ? wanted
    : new Date(Math.max(wanted.getTime(), last.seen_until.getTime(), last.started_at.getTime() + 1))

const isSame = (a: Condition, b: Condition) =>
  a.store === b.store && a.reason === b.reason && a.impaired.join() === b.impaired.join()

const extend = (tx: Tx, { started_at }: Period, at: Date) =>
  tx.run(sql`
    update status_periods
       set seen_until = greatest(seen_until, ${at})
     where started_at = ${started_at}`)

/** The next one began then. */
const shorten = (tx: Tx, { started_at }: Period, at: Date) =>
  tx.run(sql`
    update status_periods
       set seen_until = ${at}
     where started_at = ${started_at}`)

async function insert(tx: Tx, { store, reason, impaired }: Condition, from: Date, until: Date) {
  await tx.run(sql`
    insert into status_periods (started_at, seen_until, store, reason, impaired)
    values (${from}, ${until}, ${store}, ${reason}, ${impaired})`)
}

/** A day ends 24 hours after it began, whatever the time zone of the session is. */
const selectDays = (db: Queryable, from: Date, now: Date) =>
  db.many<DaySeconds>(sql`
    with days as (
      select ${from}::timestamptz + n * interval '24 hours' as day
        from generate_series(0, ${HISTORY_DAYS - 1}::integer) n
    ), seen as (
      select d.day, p.store, p.impaired,
             extract(epoch from least(p.seen_until, d.day + interval '24 hours', ${now}) - greatest(p.started_at, d.day))::float8 as seconds
        from days d
        join status_periods p on p.started_at < least(d.day + interval '24 hours', ${now}::timestamptz)
                             and p.seen_until > d.day
    )
    select d.day,
           coalesce(sum(s.seconds) filter (where s.store <> 'open'), 0) as closed_s,
           coalesce(sum(s.seconds) filter (where s.store = 'open' and s.impaired <> '{}'), 0) as degraded_s,
           coalesce(sum(s.seconds), 0) as seen_s
      from days d
      left join seen s on s.day = d.day
     group by d.day
     order by d.day`)

const selectPeriods = (db: Queryable, from: Date) =>
  db.many<Period>(sql`
    select started_at, seen_until, store, reason, impaired,
           started_at = (select max(started_at) from status_periods) as "isLast"
      from status_periods
     where seen_until > ${from}
       and (store <> 'open' or impaired <> '{}')
     order by started_at desc
     limit ${PERIODS_MAX}`)
