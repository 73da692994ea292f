import { type Db, type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import type { Log } from '../../platform/observability/log.ts'
import { createReminder } from '../../platform/observability/reminder.ts'
import { Refusal } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { OrderMetrics } from '../metrics.ts'
import { cancelOrder } from './finish.ts'

/** When an order that could not be delivered is cancelled and refunded automatically. */
export interface RefundRule {
  /** Null: never; an operator decides. */
  readonly cancel_after_ms: number | null
  /** After this many within an hour, counted from the first of them, the rule stops until an operator releases it. */
  readonly per_hour_max: number
  /** Since when it has been stopped; null while it runs. */
  readonly held_at: Date | null
  readonly changed_at: Date
}

export const readRefundRule = (db: Queryable) =>
  db.one<RefundRule>(sql`
    select (extract(epoch from cancel_after) * 1000)::bigint as cancel_after_ms, per_hour_max, held_at, changed_at
      from refund_rule`)

/** Omitted members stay unchanged. */
export async function setRefundRule(
  tx: Tx,
  { cancel_after_ms, per_hour_max }: { cancel_after_ms?: number | null; per_hour_max?: number },
  changed_at: Date,
): Promise<RefundRule> {
  // Null is a value here: it means never.
  await tx.run(sql`
    update refund_rule
       set cancel_after = case
             when ${cancel_after_ms === undefined} then cancel_after
             else ${cancel_after_ms ?? null}::bigint * interval '1 ms'
           end,
           per_hour_max = coalesce(${per_hour_max ?? null}, per_hour_max),
           changed_at = ${changed_at}`)
  return readRefundRule(tx)
}

/** Lets a stopped rule run again, with a new hour. Returns the rule as it was before. */
export async function releaseRefundRule(tx: Tx): Promise<RefundRule> {
  const before = await readRefundRule(tx)
  await tx.run(sql`
    update refund_rule
       set held_at = null,
           window_started_at = clock_timestamp(),
           window_count = 0,
           releases = releases + 1`)
  return before
}

export interface RefundDeps {
  readonly db: Db
  readonly vault: LinkVault
  readonly log: Log
  readonly metrics: Pick<OrderMetrics, 'refunds' | 'refundRuleHeld'>
  /** Monotonic time of this process, in milliseconds; not affected by changes of the clock. */
  readonly monotonicMs?: () => number
}

const HOUR_MS = 3_600_000
const BATCH = 50
/** A restart of all workers does not count as a break. */
const BREAK_S = 600

/**
 * Each call cancels the orders that have waited for longer than the rule allows and returns how many. At most `per_hour_max`
 * within an hour, both by the database's clock and by the monotonic time of this process, so that a clock step cannot raise the
 * number. Exceeding it stops the rule until an operator releases it.
 */
export function createRefundRule(deps: RefundDeps): () => Promise<number> {
  const { db, vault, log, metrics, monotonicMs = () => performance.now() } = deps
  const own = createOwnWindow(monotonicMs)
  const reminder = createReminder(undefined, monotonicMs)
  const sayHeld = (facts: object) => reminder.isDue(HELD) && log.error(facts, HELD)

  async function refundOne(order: Overdue): Promise<'refunded' | 'ended before' | 'full'> {
    return db.transaction(async (tx) => {
      // Locked before the balance: no transaction that holds a balance takes this row.
      const { held_at, used, per_hour_max, releases, now } = await lockWindow(tx)
      if (held_at !== null || used >= per_hour_max || own.used(releases) >= per_hour_max) {
        // Under the lock, so that a release by an operator comes before or after this and is not overwritten.
        await hold(tx)
        return 'full'
      }
      const { isNew } = await cancelOrder(tx, vault, order, REASON, now.getTime())
      if (!isNew) return 'ended before'
      await countRefund(tx)
      return 'refunded'
    })
  }

  return async () => {
    const { cancel_after_ms, held_at } = await readAtWork(db)
    metrics.refundRuleHeld.set(held_at === null ? 0 : 1)
    if (cancel_after_ms === null) return 0
    if (held_at !== null) {
      sayHeld({ held_at })
      return 0
    }
    let refunded = 0
    let after = ''
    for (;;) {
      const overdue = await selectOverdue(db, after)
      for (const order of overdue) {
        try {
          const outcome = await refundOne(order)
          if (outcome === 'full') {
            metrics.refundRuleHeld.set(1)
            sayHeld({ refunded })
            return refunded
          }
          if (outcome === 'refunded') {
            own.count()
            metrics.refunds.inc({ cause: 'refund_rule' })
            refunded += 1
          }
        } catch (error) {
          // A Refusal means that the order was delivered meanwhile. Any other error must not delay the other refunds.
          if (!(error instanceof Refusal))
            log.error({ err: error, order_id: order.order_id }, 'an overdue order could not be refunded')
        }
      }
      const last = overdue.at(-1)
      if (!last || overdue.length < BATCH) return refunded
      after = last.order_id
    }
  }
}

const REASON = 'could not be delivered in time'
const HELD =
  'the refund rule has reached its limit for one hour and stopped: no order is refunded automatically any more. Check ' +
  '"shopwire-admin orders waiting" and the clocks, then restart the rule with "shopwire-admin refunds release"'

/** The same hour by monotonic time, which no clock step affects. A release by an operator starts a new one. */
function createOwnWindow(monotonicMs: () => number) {
  let startedMs = Number.NEGATIVE_INFINITY
  let releasesSeen = -1
  let count = 0
  return {
    used(releases: number): number {
      if (releases !== releasesSeen || monotonicMs() - startedMs >= HOUR_MS) {
        releasesSeen = releases
        startedMs = monotonicMs()
        count = 0
      }
      return count
    },
    count() {
      count += 1
    },
  }
}

interface Overdue {
  readonly account_id: string
  readonly order_id: string
}

/** Also records that a worker is running. After a longer break no order is overdue until the rule's time has passed again. */
const readAtWork = (db: Db) =>
  db.one<Pick<RefundRule, 'cancel_after_ms' | 'held_at'>>(sql`
    update refund_rule
       set working_since = case
             when worked_at < clock_timestamp() - ${BREAK_S} * interval '1 s' then clock_timestamp()
             else working_since
           end,
           worked_at = clock_timestamp()
    returning (extract(epoch from cancel_after) * 1000)::bigint as cancel_after_ms, held_at`)

const lockWindow = (tx: Tx) =>
  tx.one<{ held_at: Date | null; used: number; per_hour_max: number; releases: number; now: Date }>(sql`
    select held_at, per_hour_max, releases, clock_timestamp() as now,
           case when window_started_at <= clock_timestamp() - interval '1 hour' then 0 else window_count end as used
      from refund_rule
       for update`)

const countRefund = (tx: Tx) =>
  tx.run(sql`
    update refund_rule
       set window_count = case
             when window_started_at <= clock_timestamp() - interval '1 hour' then 1
             else window_count + 1
           end,
           window_started_at = case
             when window_started_at <= clock_timestamp() - interval '1 hour' then clock_timestamp()
             else window_started_at
           end`)

const hold = (tx: Tx) =>
  tx.run(sql`
    update refund_rule
       set held_at = coalesce(held_at, clock_timestamp())`)

/**
 * Oldest first: an id begins with the time of its order. Time counts from the latest of: the payment, the opening of a restored
 * store, and the return of workers after a break. There must also have been an attempt to deliver. Orders that were delivered in a
 * time lost by a restore are left to an operator.
 */
const selectOverdue = (db: Db, after: string) =>
  db.many<Overdue>(sql`
    select p.account_id, p.id as order_id
      from paid_orders p
     where p.created_at < (select clock_timestamp() - r.cancel_after
                             from refund_rule r
                             cross join database_identity i
                            where greatest(r.working_since, i.confirmed_at) < clock_timestamp() - r.cancel_after)
       and p.attempts > 0
       and p.id > ${after}
       and not exists (select from lost_links l where l.order_id = p.id and l.account_id = p.account_id)
     order by p.id
     limit ${BATCH}`)
