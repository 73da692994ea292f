import { fileURLToPath } from 'node:url'
import type { Postgres } from '@shopwire/test-kit/servers'
import { PgBoss } from 'pg-boss'
import { type Contender, openDatabaseOf } from './contender.ts'
import { QUEUE } from './worker-frame.ts'

/** A table of its own, NOTIFY for every insert, and heartbeats as short as it allows. A job is tried until it is done, and soon deleted. */
const QUEUE_OPTIONS = {
  partition: true,
  notify: true,
  heartbeatSeconds: 10,
  retryLimit: 1_000,
  deleteAfterSeconds: 30,
}

export async function openPgBoss(postgres: Postgres): Promise<Contender> {
  const url = await openDatabaseOf(postgres, 'pg_boss')
  const boss = new PgBoss({ connectionString: url, max: 2, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(QUEUE, QUEUE_OPTIONS)
  const { table } = (await boss.getQueue(QUEUE)) ?? {}
  return {
    name: 'pg-boss',
    field: 'pg_boss',
    url,
    workerUrl: url,
    script: fileURLToPath(new URL('./pg-boss-worker.ts', import.meta.url)),
    hotTable: `pgboss.${table}`,
    async insert(jobs) {
      await boss.insert(
        QUEUE,
        jobs.map((data) => ({ data })),
      )
    },
    close: () => boss.stop({ graceful: false }),
  }
}
