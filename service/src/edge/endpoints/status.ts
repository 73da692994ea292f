import type { ServiceStatus } from '@shopwire/contract'
import { readStoreState } from '../../catalogue/store-state.ts'
import type { Queryable } from '../../platform/db.ts'
import { answer, endpoint } from '../endpoint.ts'

const SAMPLE_MS_MAX = 1_000

/** Answers when all else fails: a database that is gone is something to report, not a reason to be silent. */
export const getStatus = (db: Queryable) => {
  let sample: Promise<ServiceStatus> | undefined
  let sampledMs = 0
  return endpoint('getStatus', async ({ nowMs }) => {
    if (sample === undefined || nowMs - sampledMs >= SAMPLE_MS_MAX || nowMs < sampledMs) {
      sampledMs = nowMs
      sample = takeSample(db, nowMs)
    }
    return answer(200, await sample)
  })
}

async function takeSample(db: Queryable, nowMs: number): Promise<ServiceStatus> {
  const updated = new Date(nowMs).toISOString()
  // No order can be waiting yet: there is no way to place one.
  const queue = 0
  try {
    const { is_open } = await readStoreState(db)
    return {
      status: is_open ? 'operational' : 'degraded',
      api: 'up',
      store: is_open ? 'open' : 'closed',
      queue,
      updated,
    }
  } catch {
    return { status: 'degraded', api: 'unavailable', store: 'closed', queue, updated }
  }
}
