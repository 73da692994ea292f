import { type Db, type Queryable, sql, statement, type Tx } from '../platform/database/db.ts'

/** What happened to an account's balance on one UTC day. */
export interface AccountDay {
  /** `2026-11-15` */
  readonly day: string
  readonly first_seq: number
  readonly last_seq: number
  readonly orders: number
  readonly order_cents: number
  readonly refunds: number
  readonly refund_cents: number
  readonly topups: number
  readonly topup_cents: number
  readonly adjustments: number
  /** Up or down. */
  readonly adjustment_cents: number
  readonly closing_balance_cents: number
}

export interface AccountDays {
  /** Oldest first; days without a transfer are left out. The last one may be today, which is not over. */
  readonly days: readonly AccountDay[]
  /** False while the worker has not caught up with an account that has very many transfers: the latest days are then missing. */
  readonly isComplete: boolean
}

/** Rows read at a time: more than the usual rate limits allow in one day with every order refunded. */
const TRANSFERS_MAX = 100_000
/** For an account whose limits allow more. */
const TRANSFERS_FACTOR = 4
const REMEMBERED_MAX = 10_000
/** Accounts processed in one transaction. */
const ACCOUNTS_CHUNK = 500
/** A day is closed this long after its end: clocks differ, and a transfer may have waited for its lock. */
const CLOSE_AFTER_MS = 10 * 60_000

/** Closed days from the table, the rest from the transfers after them. `since` is a day; what was before it is left out. */
export async function readAccountDays(
  db: Queryable,
  account_id: string,
  since: string,
): Promise<AccountDays> {
  const closed = await db.many<AccountDay>(sql`
    select day::text, first_seq, last_seq, orders, order_cents, refunds, refund_cents, topups, topup_cents, adjustments,
           adjustment_cents, closing_balance_cents
      from account_days
     where account_id = ${account_id}
       and day >= ${since}::date
     order by day`)
  const last = closed.at(-1) ?? (await selectLastDay(db, account_id))
  const open = await sumOpenDays(db, account_id, last)
  const days = [...closed, ...open.days.filter(({ day }) => day >= since)]
  return { days, isComplete: !open.isCut }
}

/** What an account has ordered in total, in cents; undefined while the worker has not caught up. */
export type OrderedTotal = (db: Queryable, account_id: string) => Promise<number | undefined>

/**
 * Adds everything up once, then only what is new: transfers are never changed, so a sum up to a position stays right. Accounts that
 * were not requested lately are dropped from memory.
 */
export function createOrderedTotal(): OrderedTotal {
  const known = new Map<string, { cents: number; seq: number }>()
  return async (db, account_id) => {
    const before = known.get(account_id) ?? (await sumClosedDays(db, account_id))
    const since = await db.one<{ cents: number; seq: number | null; transfers: number }>(sql`
      select coalesce(-sum(change_cents) filter (where kind = 'order'), 0)::bigint as cents, max(seq) as seq, count(*) as transfers
        from (select seq, kind, change_cents
                from transfers
               where account_id = ${account_id}
                 and seq > ${before.seq}
               order by seq
               limit ${TRANSFERS_MAX}) t`)
    if (since.transfers === TRANSFERS_MAX) return undefined
    const sum = { cents: before.cents + since.cents, seq: since.seq ?? before.seq }
    known.delete(account_id)
    known.set(account_id, sum)
    for (const oldest of known.keys()) {
      if (known.size <= REMEMBERED_MAX) break
      known.delete(oldest)
    }
    return sum.cents
  }
}

const sumClosedDays = (db: Queryable, account_id: string) =>
  db.one<{ cents: number; seq: number }>(sql`
    select coalesce(sum(order_cents), 0)::bigint as cents, coalesce(max(last_seq), 0) as seq
      from account_days
     where account_id = ${account_id}`)

/**
 * Writes rows for days that have ended, a chunk of accounts per call; false when all are done. Any number of workers may call this;
 * one of them does the work.
 */
export function closeAccountDays(db: Pick<Db, 'transaction'>, nowMs: number): Promise<boolean> {
  const today = dayOf(nowMs - CLOSE_AFTER_MS)
  const yesterday = dayOf(nowMs - CLOSE_AFTER_MS - DAY_MS)
  return db.transaction(async (tx) => {
    const progress = await tx.maybeOne<{ day: string; done_up_to: string | null }>(sql`
      select day::text, done_up_to
        from account_days_progress
         for update skip locked`)
    if (!progress || (progress.day >= yesterday && progress.done_up_to === null)) return false
    const isNewRound = progress.done_up_to === null
    const done_up_to = await closeChunk(tx, progress.done_up_to ?? '', today)
    // A pass that began before midnight keeps its day, so that the next one starts at once.
    await tx.run(sql`
      update account_days_progress
         set day = ${isNewRound ? yesterday : progress.day}::date,
             done_up_to = ${done_up_to}`)
    return true
  })
}

/** Returns the last account that is done, or null when no account follows it. */
async function closeChunk(tx: Tx, after: string, today: string): Promise<string | null> {
  const accounts = await tx.many<{ account_id: string; is_behind: boolean }>(sql`
    select b.account_id, b.transfer_count > coalesce(d.last_seq, 0) as is_behind
      from (select account_id, transfer_count
              from balances
             where account_id > ${after}
             order by account_id
             limit ${ACCOUNTS_CHUNK}) b
      left join lateral (select last_seq
                           from account_days
                          where account_id = b.account_id
                          order by day desc
                          limit 1) d on true
     order by b.account_id`)
  let done = after
  let transfers = 0
  for (const { account_id, is_behind } of accounts) {
    // The transaction stays short: an account with years of transfers is continued by the next call.
    if (transfers >= TRANSFERS_MAX) return done
    if (is_behind) {
      const { read, isCut } = await closeDaysOf(tx, account_id, today)
      transfers += read
      if (isCut) return done
    }
    done = account_id
  }
  return accounts.length < ACCOUNTS_CHUNK ? null : done
}

async function closeDaysOf(
  tx: Tx,
  account_id: string,
  today: string,
): Promise<{ read: number; isCut: boolean }> {
  const last = await selectLastDay(tx, account_id)
  let limit = TRANSFERS_MAX
  let found = await sumOpenDays(tx, account_id, last, limit)
  // At least one whole day, or the next call would find the same.
  while (found.isCut && found.days.length === 0) {
    limit *= TRANSFERS_FACTOR
    found = await sumOpenDays(tx, account_id, last, limit)
  }
  const { days, read, isCut } = found
  const over = days.filter(({ day }) => day < today)
  await tx.run(sql`
    insert into account_days (account_id, day, first_seq, last_seq, orders, order_cents, refunds, refund_cents, topups,
                              topup_cents, adjustments, adjustment_cents, closing_balance_cents)
    select ${account_id}, day, first_seq, last_seq, orders, order_cents, refunds, refund_cents, topups, topup_cents, adjustments,
           adjustment_cents, closing_balance_cents
      from json_to_recordset(${JSON.stringify(over)})
           as d (day date, first_seq bigint, last_seq bigint, orders bigint, order_cents bigint, refunds bigint,
                 refund_cents bigint, topups bigint, topup_cents bigint, adjustments bigint, adjustment_cents bigint,
                 closing_balance_cents bigint)`)
  return { read, isCut }
}

type LastDay = Pick<AccountDay, 'day' | 'last_seq'>

const selectLastDay = (db: Queryable, account_id: string) =>
  db.maybeOne<LastDay>(sql`
    select day::text, last_seq
      from account_days
     where account_id = ${account_id}
     order by day desc
     limit 1`)

/**
 * Sums of the transfers after the last closed day, by day. If the range was cut off, the last day is left out, because it is
 * incomplete.
 */
async function sumOpenDays(
  db: Queryable,
  account_id: string,
  last: LastDay | undefined,
  limit = TRANSFERS_MAX,
): Promise<{ days: AccountDay[]; read: number; isCut: boolean }> {
  const values = [account_id, last?.last_seq ?? 0, limit, last?.day ?? null]
  const byTime = await db.many<AccountDay>(statement(sumsBy(`(created_at at time zone 'UTC')::date`), values))
  // Around midnight a transfer may have an earlier time than the one before it. Then days are separated by position, which takes
  // longer.
  const days = byTime.every(({ first_seq }, n) => n === 0 || first_seq > (byTime[n - 1]?.last_seq ?? 0))
    ? byTime
    : await db.many<AccountDay>(
        statement(sumsBy(`max((created_at at time zone 'UTC')::date) over (order by seq)`), values),
      )
  const read = (days.at(-1)?.last_seq ?? last?.last_seq ?? 0) - (last?.last_seq ?? 0)
  const isCut = read === limit
  return { days: isCut ? days.slice(0, -1) : days, read, isCut }
}

const sumsBy = (day: string) => `
    select d.day::text, d.first_seq, d.last_seq, d.orders, d.order_cents, d.refunds, d.refund_cents, d.topups, d.topup_cents,
           d.adjustments, d.adjustment_cents, t.balance_after_cents as closing_balance_cents
      from (select day, min(seq) as first_seq, max(seq) as last_seq,
                   count(*) filter (where kind = 'order') as orders,
                   coalesce(-sum(change_cents) filter (where kind = 'order'), 0)::bigint as order_cents,
                   count(*) filter (where kind = 'refund') as refunds,
                   coalesce(sum(change_cents) filter (where kind = 'refund'), 0)::bigint as refund_cents,
                   count(*) filter (where kind = 'funding') as topups,
                   coalesce(sum(change_cents) filter (where kind = 'funding'), 0)::bigint as topup_cents,
                   count(*) filter (where kind = 'adjustment') as adjustments,
                   coalesce(sum(change_cents) filter (where kind = 'adjustment'), 0)::bigint as adjustment_cents
              from (select seq, kind, change_cents, greatest(${day}, $4::date + 1) as day
                      from (select seq, kind, change_cents, created_at
                              from transfers
                             where account_id = $1
                               and seq > $2
                             order by seq
                             limit $3) t) t
             group by day) d
      join transfers t on t.account_id = $1 and t.seq = d.last_seq
     order by d.first_seq`

const DAY_MS = 86_400_000

/** The UTC day of a time: `2026-11-15`. */
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
