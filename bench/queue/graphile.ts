import { fileURLToPath } from 'node:url'
import type { Postgres } from '@shopwire/test-kit/servers'
import { Logger, makeWorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { type Contender, openDatabaseOf } from './contender.ts'
import { QUEUE } from './worker-frame.ts'

/** Which pools of workers live. graphile-worker itself gives a killed worker's jobs back after four hours. */
const BEATS_TABLE = 'create table beats (pool_id text primary key, beaten_at timestamptz not null)'
const ATTEMPTS_MAX = 1_000

export async function openGraphile(postgres: Postgres): Promise<Contender> {
  const url = await openDatabaseOf(postgres, 'graphile')
  const pgPool = new pg.Pool({ connectionString: url, max: 2 })
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  await pgPool.query(BEATS_TABLE)
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) })
  await utils.migrate()
  return {
    name: 'graphile-worker',
    field: 'graphile',
    url,
    workerUrl: url,
    script: fileURLToPath(new URL('./graphile-worker.ts', import.meta.url)),
    hotTable: 'graphile_worker._private_jobs',
    async insert(jobs) {
      await utils.addJobs(jobs.map((payload) => ({ identifier: QUEUE, payload, maxAttempts: ATTEMPTS_MAX })))
    },
    async close() {
      await utils.release()
      await pgPool.end()
    },
  }
}
