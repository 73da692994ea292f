import { type ServiceStatus, STATUS_CACHE_MS_MAX } from '@shopwire/contract'
import { readStoreState } from '../../catalogue/store-state.ts'
import { readBacklog } from '../../orders/fulfilment/backlog.ts'
import type { Db } from '../../platform/database/db.ts'
import { answer, endpoint } from './endpoint.ts'

/** A database that takes longer than this is reported as not answering. */
const SAMPLE_MS_MAX = 1_000

/** Answers even when the database does not: callers use it to find out why everything else fails. */
export const getStatus = (
  db: Db,
  problem: () => string | undefined,
  isServing: () => boolean = () => true,
) => {
  let sample: Promise<ServiceStatus> | undefined
  let sampledMs = 0
  let queue = 0
  let underWay: Promise<Sampled> | undefined

  /** At most one query at a time, however long it takes, so that callers do not add load to a slow database. */
  function query(): Promise<Sampled> {
    underWay ??= Promise.all([readStoreState(db), readBacklog(db)])
      .then(([{ is_open_now }, backlog]) => ({ isOpen: is_open_now, ...backlog }))
      .finally(() => {
        underWay = undefined
      })
    return underWay
  }

  async function takeSample(nowMs: number): Promise<ServiceStatus> {
    const updated = new Date(nowMs).toISOString()
    try {
      const sampled = await within(SAMPLE_MS_MAX, query())
      queue = sampled.queue
      const isWell =
        sampled.isOpen && !sampled.isStuck && db.writeProblem() === undefined && problem() === undefined
      const store = sampled.isOpen ? 'open' : 'closed'
      const api = isServing() ? 'up' : 'unavailable'
      return { status: isWell ? 'operational' : 'degraded', api, store, queue, updated }
    } catch {
      // Nothing can be bought without the database, so the store is reported as closed, with the last known state of the queue.
      return { status: 'degraded', api: 'unavailable', store: 'closed', queue, updated }
    }
  }

  return endpoint('getStatus', async ({ nowMs }) => {
    if (sample === undefined || nowMs - sampledMs >= STATUS_CACHE_MS_MAX || nowMs < sampledMs) {
      sampledMs = nowMs
      sample = takeSample(nowMs)
    }
    return answer(200, await sample)
  })
}

interface Sampled {
  readonly isOpen: boolean
  readonly queue: number
  readonly isStuck: boolean
}

function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('too slow')), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
