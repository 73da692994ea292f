import { readStoreNow, type StoreNow } from '../../catalogue/store-state.ts'
import { readLateness } from '../../orders/fulfilment/late-orders.ts'
import type { Db } from '../../platform/database/db.ts'
import { readOldestDue } from '../../platform/jobs/jobs.ts'
import { DELIVER_QUEUE } from '../../webhooks/deliver-queue.ts'
import type { ApiAnswer } from './ask-api.ts'
import { type Condition, PARTS, type PartName, type StorePhase } from './history.ts'

/** In the words of /status. `closed`: refused because the store is closed. */
export type PartState = 'up' | 'degraded' | 'unavailable' | 'closed' | 'unknown'

export interface Present {
  readonly store: StoreNow
  readonly phase: StorePhase
  readonly parts: Readonly<Record<PartName, PartState>>
  /** An order waits much longer than orders usually do. One item without stock is enough, so no part counts as degraded for it. */
  readonly isLate: boolean
}

/** Reads what callers meet now. Throws when the database does not answer. */
export function createObserver(db: Db, askApi: () => Promise<ApiAnswer>): () => Promise<Present> {
  const api = createSteady<ApiAnswer>('unknown')
  const delivery = createSteady(false)
  const webhooks = createSteady(false)
  return async () => {
    const [store, answer] = await Promise.all([readStoreNow(db), askApi()])
    const { isStuck, isLate } = await readLateness(db, store.now)
    const { isOverdue } = await readOldestDue(db, DELIVER_QUEUE)
    const phase = phaseOf(store)
    const canWrite = db.writeProblem() === undefined
    // Otherwise /status is degraded for a reason that only API processes know, such as their clocks.
    const isExplained = phase !== 'open' || isStuck || !canWrite
    const reading = api(answer === 'degraded' && isExplained ? 'up' : answer)
    const sending = (isLate: boolean): PartState =>
      phase === 'unconfirmed' ? 'unavailable' : isLate ? 'degraded' : 'up'
    const parts = {
      buying: phase !== 'open' ? 'closed' : canWrite ? reading : 'unavailable',
      reading,
      delivery: sending(delivery(isStuck)),
      webhooks: sending(webhooks(isOverdue)),
    } as const
    return { store, phase, isLate, parts }
  }
}

/** What history keeps of it. A part of which nothing is known counts as working: the gap would never end. */
export function conditionOf({ store, phase, parts }: Present): Condition {
  const isImpaired = (part: PartName) => parts[part] === 'degraded' || parts[part] === 'unavailable'
  const isClosed = phase === 'closed' || phase === 'planned'
  return { store: phase, reason: isClosed ? store.reason : null, impaired: PARTS.filter(isImpaired) }
}

function phaseOf({ is_open, is_database_confirmed, opens_at }: StoreNow): StorePhase {
  if (!is_database_confirmed) return 'unconfirmed'
  if (is_open) return 'open'
  return opens_at === null ? 'closed' : 'planned'
}

/** Looks in a row that have to agree: otherwise what comes and goes would be a new period every few seconds. */
const LOOKS = 3

/** The first answer after `initial` counts at once where nothing was known. */
function createSteady<Value>(initial: Value): (value: Value) => Value {
  let shown = initial
  let next = initial
  let agreeing = 0
  return (value) => {
    agreeing = value === next ? agreeing + 1 : 1
    next = value
    if (agreeing >= LOOKS || shown === 'unknown') shown = value
    return shown
  }
}
