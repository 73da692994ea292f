import { expect, test } from 'vitest'
import type { Db } from '../../../src/platform/database/db.ts'
import { createReplicationWatch } from '../../../src/platform/database/replication-watch.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { asSuperuser, openTestDatabase } from '../../../testing/database.ts'

const LAG = 'shopwire_replication_lag_seconds'
const CONNECTED = 'shopwire_replication_connected'

test('a slot that nobody reads is exposed as a standby that is not connected, and gone when it is dropped', async () => {
  const database = await openTestDatabase()
  const metrics = createMetrics('test')
  const look = createReplicationWatch({ db: database.worker, metrics, isLeader: () => true })
  await asSuperuser((db) => db.query("select pg_create_physical_replication_slot('watched_standby', true)"))
  try {
    await look()
    expect(await seriesOf(metrics, CONNECTED)).toContain(`${CONNECTED}{standby="watched_standby"} 0`)
    expect(await seriesOf(metrics, LAG)).toEqual([])
  } finally {
    await asSuperuser((db) => db.query("select pg_drop_replication_slot('watched_standby')"))
  }
  await look()
  expect(await seriesOf(metrics, CONNECTED)).toEqual([])
  await database.close()
})

test('the lag is the age of the first position that a standby has not replayed, and 0 when it has all', async () => {
  const metrics = createMetrics('test')
  let nowMs = 0
  let isLeader = true
  let rows: { standby: string; is_connected: boolean; replayed: number | null; written: number }[] = []
  const db = { many: async () => rows } as unknown as Db
  const watch = createReplicationWatch({
    db,
    metrics,
    isLeader: () => isLeader,
    monotonicMs: () => nowMs,
  })
  const look = async (written: number, replayed: number | null) => {
    rows = [{ standby: 'one', is_connected: true, replayed, written }]
    await watch()
    nowMs += 5_000
    return (await seriesOf(metrics, LAG)).map((line) => Number(line.split(' ')[1]))
  }
  expect(await look(100, 100)).toEqual([0])
  // Something was written since the last look: how long ago is not known, so it counts from now on.
  expect(await look(200, 100)).toEqual([0])
  expect(await look(300, 100)).toEqual([5])
  expect(await look(300, 100)).toEqual([10])
  expect(await look(300, 250)).toEqual([10])
  expect(await look(300, 300)).toEqual([0])
  expect(await look(300, null)).toEqual([])
  isLeader = false
  expect(await seriesOf(metrics, CONNECTED)).toEqual([])
})

test('a reading that could not be refreshed is no longer exposed', async () => {
  const metrics = createMetrics('test')
  let nowMs = 0
  const rows = [{ standby: 'one', is_connected: true, replayed: 1, written: 1 }]
  const db = { many: async () => rows } as unknown as Db
  const watch = createReplicationWatch({ db, metrics, isLeader: () => true, monotonicMs: () => nowMs })
  await watch()
  expect(await seriesOf(metrics, CONNECTED)).toEqual([`${CONNECTED}{standby="one"} 1`])
  nowMs += 31_000
  expect(await seriesOf(metrics, CONNECTED)).toEqual([])
})

async function seriesOf({ registry }: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  const text = await registry.getSingleMetricAsString(name)
  return text.split('\n').filter((line) => line.startsWith(`${name}{`))
}
