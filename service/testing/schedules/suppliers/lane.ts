import type { Simulation } from '../run.ts'
import { openStore } from '../store.ts'
import { type Lane, runSchedule } from './schedule.ts'
import { startSimulatedSuppliers } from './suppliers.ts'

const BALANCE_CENTS = 100_000_000

export const suppliersSimulation: Simulation<Lane> = {
  runSchedule,
  async openLane(database) {
    const store = await openStore(database)
    const { id: account_id } = await store.operator.createAccount('Schedules')
    await store.operator.fundAccount(account_id, { amount_cents: BALANCE_CENTS, reference: 'opening' })
    const suppliers = await startSimulatedSuppliers()
    return {
      lane: { ...store, db: store.worker, account_id, suppliers },
      async close() {
        await suppliers.close()
        await store.close()
      },
    }
  },
}
