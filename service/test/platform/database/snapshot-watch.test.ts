import pg from 'pg'
import { expect, test } from 'vitest'
import { createSnapshotWatch } from '../../../src/platform/database/snapshot-watch.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { openTestDatabase } from '../../../testing/database.ts'

test('a snapshot that is held for a minute is reported with its session, again after five minutes, and no longer when it ends', async () => {
  const database = await openTestDatabase()
  const lines: { msg: string; holder: string; name: string; application_name: string; held_s: number }[] = []
  const metrics = createMetrics('test')
  let nowMs = 0
  let isLeader = true
  const look = createSnapshotWatch({
    db: database.worker,
    log: createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    metrics,
    isLeader: () => isLeader,
    monotonicMs: () => nowMs,
  })
  const forgotten = new pg.Client({
    connectionString: database.superuserUrl,
    application_name: 'forgotten report',
  })
  await forgotten.connect()
  await forgotten.query('begin isolation level repeatable read')
  const { rows } = await forgotten.query('select pg_backend_pid() as pid')
  const heldSeconds = async () => {
    const text = await metrics.registry.getSingleMetricAsString('shopwire_oldest_snapshot_seconds')
    return Number(/^shopwire_oldest_snapshot_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1])
  }
  // The sessions of the database's own pool hold snapshots for moments only.
  const lookAndCount = async () => {
    await look()
    return warned().length
  }
  const lookAndRead = async () => {
    await look()
    return heldSeconds()
  }
  const warned = () => lines.filter(({ application_name }) => application_name === 'forgotten report')
  await look()
  expect(warned()).toEqual([])
  nowMs += 61_000
  await expect.poll(lookAndCount).toBe(1)
  expect(warned()[0]).toMatchObject({ holder: 'session', name: String(rows[0].pid), held_s: 61 })
  expect(await heldSeconds()).toBe(61)
  nowMs += 60_000
  await look()
  expect(warned()).toHaveLength(1)
  nowMs += 300_000
  await look()
  expect(warned()).toHaveLength(2)
  await forgotten.end()
  await expect.poll(lookAndRead).toBe(0)
  isLeader = false
  await look()
  expect(await heldSeconds()).toBeNaN()
  await database.close()
})
