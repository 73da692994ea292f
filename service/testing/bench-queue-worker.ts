import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { openDatabase, sql } from '../src/platform/database/db.ts'
import { createJobRunner } from '../src/platform/jobs/job-runner.ts'
import { finishJob } from '../src/platform/jobs/jobs.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/programs/metrics.ts'

/**
 * A worker whose jobs only record that they ran: node bench-queue-worker.ts <settings file>. `npm run bench -- queue` starts and
 * kills it; the settings and the answers are those of bench/queue/worker-frame.ts.
 */
const { url, port, slots, connections } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as {
  readonly url: string
  readonly port: number
  readonly slots: number
  readonly connections: number
}
let done = 0
let claimsMs: number[] = []

const log = createLog('warn')
const db = openDatabase(
  {
    url,
    application_name: 'shopwire-worker',
    connectionsMax: connections,
    // As the settings of the service are by default.
    connectMsMax: 2_000,
    statementMsMax: 5_000,
    lockMsMax: 2_000,
    namedStatements: true,
  },
  (error) => log.warn({ err: error }, 'an idle database connection was lost'),
  undefined,
  (label, seconds) => label === 'claim_jobs' && claimsMs.push(seconds * 1_000),
)
const runner = createJobRunner(db, {
  queue: 'fulfil',
  subjectName: 'job',
  concurrency: slots,
  failingMax: slots / 2,
  log,
  metrics: createMetrics('bench', ['worker']),
  async work(job) {
    const startedMs = Date.now()
    await db.transaction(async (tx) => {
      await tx.run(sql`
        insert into done (n, inserted_ms, started_ms)
        values (${Number(job.subject)}, ${job.created_at.getTime()}, ${startedMs})`)
      await finishJob(tx, job)
    })
    done += 1
    return { kind: 'done' }
  },
})

runner.start()
createServer((_, response) => {
  response.end(JSON.stringify({ done, claimsMs }))
  claimsMs = []
}).listen(port, '127.0.0.1')
