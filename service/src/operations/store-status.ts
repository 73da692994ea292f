import { readStoreState } from '../catalogue/store-state.ts'
import { type RefundRule, readRefundRule } from '../orders/fulfilment/refund-rule.ts'
import { type Db, type Queryable, sql } from '../platform/database/db.ts'
import { readRemovals } from '../platform/jobs/removal-limit.ts'
import { readWorkers } from '../platform/jobs/worker-heartbeats.ts'
import { listSuppliers } from '../supply/suppliers.ts'
import { readFigures } from './store-figures.ts'

/** Causes and pools that are listed; the others are counted. */
const NAMED_MAX = 10

export interface WaitingCause {
  readonly cause: string
  readonly orders: number
  readonly oldest_at: Date
}

export interface LowPool {
  readonly item_id: string
  readonly name: string | null
  readonly pool_left: number
  readonly warn_below: number
}

export interface QueueState {
  readonly queue: string
  readonly due: number
  readonly leased: number
  readonly scheduled: number
  readonly parked: number
  readonly dead: number
  /** How long the oldest has been due. */
  readonly oldest_due_s: number
}

export type StoreStatus = Awaited<ReturnType<typeof readStoreStatus>>

/** Whether all is well, as far as the database can tell. The workers' metrics are made from the same figures. */
export async function readStoreStatus(db: Db) {
  const [store, workers, figures, causes, low_pools, suppliers, refund_rule, removals] = await Promise.all([
    readStoreState(db),
    readWorkers(db),
    readFigures(db),
    selectCauses(db),
    selectLowPools(db),
    listSuppliers(db),
    readRefundRule(db),
    readRemovals(db),
  ])
  const verified = figures.verified_at_s > 0
  return {
    now: store.now,
    store: {
      is_open: store.is_open_now && store.is_database_confirmed,
      is_closed_by_operator: !store.is_open,
      is_database_confirmed: store.is_database_confirmed,
      reason: store.reason,
    },
    workers,
    queues: queuesOf(figures.jobs),
    waiting: { orders: figures.orders_waiting, oldest_s: figures.oldest_order_s, causes },
    pools: { low: figures.pools_low, empty: figures.pools_empty, named: low_pools },
    suppliers: suppliers.map(({ name, is_paused }) => {
      const { unsettled = 0, oldest_s = 0 } =
        figures.suppliers.find(({ supplier }) => supplier === name) ?? {}
      return { name, is_paused, unsettled, oldest_s }
    }),
    refund_rule: heldOf(refund_rule),
    removals_held: removals.filter(({ held_at }) => held_at !== null).map(({ kind }) => kind),
    mail: { oldest_s: figures.oldest_mail_s },
    payment_reviews: figures.payment_reviews,
    /** Null: never. */
    verified: verified
      ? { at: new Date(figures.verified_at_s * 1_000), rules_violated: figures.rules_violated ?? 0 }
      : null,
  }
}

const heldOf = ({ cancel_after_ms, held_at }: RefundRule) => ({ cancel_after_ms, held_at })

function queuesOf(jobs: Awaited<ReturnType<typeof readFigures>>['jobs']): QueueState[] {
  const names = [...new Set(jobs.map(({ queue }) => queue))].sort()
  return names.map((queue) => {
    const those = jobs.filter((job) => job.queue === queue)
    const count = (wanted: string) =>
      those.reduce((sum, { state, count }) => sum + (state === wanted ? count : 0), 0)
    return {
      queue,
      due: count('due'),
      leased: count('leased'),
      scheduled: count('scheduled'),
      parked: count('parked'),
      dead: count('dead'),
      oldest_due_s: Math.max(0, ...those.map(({ oldest_s }) => oldest_s)),
    }
  })
}

/** The first of an order's reasons, without the item and the number of links, so that a thousand orders have a few causes. */
const selectCauses = (db: Queryable) =>
  db.many<WaitingCause>(sql`
    select w.cause, count(*) as orders, min(w.created_at) as oldest_at
      from (select o.created_at,
                   coalesce(regexp_replace(split_part(j.note, '; ', 1), '^item [0-9]+: |\\m[0-9]+ (?=short|to be)', '', 'g'),
                            'not started yet') as cause
              from paid_orders o
              join jobs j on j.queue = 'fulfil' and j.subject = o.id) w
     group by w.cause
     order by count(*) desc, w.cause
     limit ${NAMED_MAX}`)

/** The emptiest first. */
const selectLowPools = (db: Queryable) =>
  db.many<LowPool>(sql`
    select s.item_id, i.name, s.pool_left, s.warn_below
      from item_supply s
      left join items i on i.id = s.item_id
     where s.source = 'pool'
       and (s.pool_left = 0 or s.pool_left < s.warn_below)
     order by s.pool_left, s.item_id
     limit ${NAMED_MAX}`)
