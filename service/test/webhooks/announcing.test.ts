import { expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../../src/config/config.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createWorker } from '../../src/programs/worker-program.ts'
import { openTestDatabase } from '../../testing/database.ts'

test('a revision that a failover rolled back is not announced, so the later one with its number is', async () => {
  const database = await openTestDatabase()
  let looks = 0
  const db: Db = {
    ...database.worker,
    one(statement) {
      if (statement.text.includes('from catalogue_state')) looks += 1
      return database.worker.one(statement)
    },
  }
  const config = loadConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_DATABASE_URL: database.processUrls.worker,
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
  })
  const worker = createWorker(config, { log: createLog('silent'), metrics: createMetrics('test'), db })
  /** The previous poll has ended when the next one starts. */
  const nextLooks = (count: number) => {
    const wanted = looks + count
    return expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThanOrEqual(wanted)
  }
  try {
    await database.asOwner(`update catalogue_state set revision = 100;
      update catalogue_announcement set revision = 90, begun_at = now()`)
    await worker.open((_part, work) => work())
    await nextLooks(2)
    await database.asOwner(`update catalogue_state set revision = 95;
      update catalogue_announcement set revision = 90, begun_at = 'epoch'`)
    await nextLooks(2)
    const announced = await database.owner.one(sql`select revision from catalogue_announcement`)
    expect(announced).toEqual({ revision: 95 })
  } finally {
    for (const step of worker.stops) await step.run()
    await database.close()
  }
}, 60_000)
