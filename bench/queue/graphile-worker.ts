import { EventEmitter } from 'node:events'
import { setInterval } from 'node:timers'
import { Logger, run, type WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { answerOn, type JobData, QUEUE, RECORD_JOB, readSettings } from './worker-frame.ts'

/**
 * graphile-worker at its best here: a local queue filled by batched claims, and a heartbeat beside it, because it keeps a killed
 * worker's jobs locked for four hours unless somebody calls force_unlock_workers.
 */
const BEAT_EVERY_MS = 1_000
const DEAD_AFTER_S = 10

const { url, port, slots, connections } = readSettings()
const pgPool = new pg.Pool({ connectionString: url, max: connections })
pgPool.on('error', (error) => process.stderr.write(`${error.message}\n`))
const report = answerOn(port)
pgPool.on('connect', (client) => {
  client.on('error', () => {})
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  client.query = (async (...args: unknown[]) => {
    const beganMs = performance.now()
    const result = await query(...args)
    if ((args[0] as { name?: string }).name?.startsWith('get_job'))
      report.claimed(performance.now() - beganMs)
    return result
  }) as unknown as typeof client.query
})

const events = new EventEmitter() as WorkerEvents
events.on('pool:create', ({ workerPool }) => {
  let aliveSinceMs = performance.now()
  setInterval(async () => {
    try {
      await pgPool.query(
        `insert into beats (pool_id, beaten_at) values ($1, now())
             on conflict (pool_id) do update set beaten_at = excluded.beaten_at`,
        [workerPool.id],
      )
      // Behind an outage that no worker could beat in, all of them look dead.
      if (performance.now() - aliveSinceMs < 1_000 * DEAD_AFTER_S) return
      await pgPool.query(
        `with dead as (delete from beats where beaten_at < now() - ${DEAD_AFTER_S} * interval '1 s' returning pool_id)
         select graphile_worker.force_unlock_workers(array_agg(pool_id)) from dead having count(*) > 0`,
      )
    } catch {
      aliveSinceMs = performance.now()
    }
  }, BEAT_EVERY_MS)
})

const runner = await run({
  pgPool,
  events,
  concurrency: slots,
  noHandleSignals: true,
  logger: new Logger(
    () => (level, message) => void (level === 'error' && process.stderr.write(`${message}\n`)),
  ),
  preset: { worker: { localQueue: { size: 2 * slots }, completeJobBatchDelay: 0, pollInterval: 500 } },
  taskList: {
    async [QUEUE](payload, { query }) {
      const { n, atMs } = payload as JobData
      await query(RECORD_JOB, [n, atMs, Date.now()])
      report.jobDone()
    },
  },
})
await runner.promise
