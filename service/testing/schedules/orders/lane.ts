import type { Simulation } from '../run.ts'
import { openStore } from '../store.ts'
import { startReceivers } from './receiver.ts'
import { type Lane, runSchedule } from './schedule.ts'

/** Somebody who waits for a process that stands still gives up soon: the schedule has other things to do. */
const LOCK_MS_MAX = 40

export const ordersSimulation: Simulation<Lane> = {
  runSchedule,
  async openLane(database) {
    const store = await openStore(database, LOCK_MS_MAX)
    const receivers = await startReceivers()
    return {
      lane: { ...store, receivers },
      async close() {
        await receivers.close()
        await store.close()
      },
    }
  },
}
