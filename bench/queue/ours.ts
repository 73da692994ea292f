import { fileURLToPath } from 'node:url'
import type { Postgres } from '@shopwire/test-kit/servers'
import { startSystem } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { accountIdSql } from '../shared/seed.ts'
import { type Contender, DONE_TABLE } from './contender.ts'

const SCRIPT = fileURLToPath(new URL('../../service/testing/bench-queue-worker.ts', import.meta.url))
const ACCOUNTS = 100

/** The service's job table and job runner, as a migrated database has them. */
export async function openOurs(postgres: Postgres): Promise<Contender> {
  const { superuserUrl, database } = await startSystem({
    postgres,
    databaseName: 'ours',
    admission: 'postgres',
    apis: 0,
  })
  const pool = new pg.Pool({ connectionString: superuserUrl, max: 2 })
  pool.on('error', () => {})
  await pool.query(DONE_TABLE)
  await pool.query('grant insert on done to shopwire_worker_rights')
  await pool.query(
    `insert into accounts (id, name, created_at)
     select ${accountIdSql('n')}, 'Bench', now() from generate_series(0, ${ACCOUNTS - 1}) n`,
  )
  return {
    name: 'ours',
    field: 'jobs',
    url: superuserUrl,
    workerUrl: database.processUrls.worker,
    script: SCRIPT,
    hotTable: 'jobs',
    async insert(jobs) {
      await pool.query({
        name: 'insert',
        text: `insert into jobs (account_id, queue, subject, run_at, created_at)
               select ${accountIdSql(`n % ${ACCOUNTS}`)}, 'fulfil', n::text, at, at
                 from (select n, to_timestamp(at_ms / 1000) as at
                         from unnest($1::bigint[], $2::double precision[]) as job (n, at_ms)) j`,
        values: [jobs.map(({ n }) => n), jobs.map(({ atMs }) => atMs)],
      })
    },
    close: () => pool.end(),
  }
}
