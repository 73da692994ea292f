import { type Job, PgBoss } from 'pg-boss'
import { answerOn, type JobData, QUEUE, RECORD_JOB, readSettings } from './worker-frame.ts'

/**
 * pg-boss at its best here: woken by NOTIFY with a short poll behind it, jobs in batches, each batch completed in the transaction of its
 * work, and supervised often, so that a killed worker's jobs come back soon after their last heartbeat and the table stays small.
 */
const BATCH = 16
const SUPERVISE_EVERY_S = 2
const DELETE_EVERY_S = 30

const { url, port, slots, connections } = readSettings()
const boss = new PgBoss({
  connectionString: url,
  max: connections,
  useListenNotify: true,
  schedule: false,
  superviseIntervalSeconds: SUPERVISE_EVERY_S,
  monitorIntervalSeconds: SUPERVISE_EVERY_S,
  maintenanceIntervalSeconds: DELETE_EVERY_S,
})
boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
await boss.start()
const report = answerOn(port)

const db = boss.getDb()
const executeSql = db.executeSql.bind(db)
db.executeSql = async (text, values) => {
  const beganMs = performance.now()
  const result = await executeSql(text, values)
  if (text.includes('SKIP LOCKED')) report.claimed(performance.now() - beganMs)
  return result
}

await boss.work(
  QUEUE,
  {
    transactional: true,
    batchSize: BATCH,
    localConcurrency: Math.ceil(slots / BATCH) + 1,
    burstWhenBatchFull: true,
    notifyPollingIntervalSeconds: 0.5,
    pollingIntervalSeconds: 0.5,
  },
  async (jobs: Job<JobData>[], tx) => {
    for (const { data } of jobs) {
      await tx.executeSql(RECORD_JOB, [data.n, data.atMs, Date.now()])
    }
    for (const _ of jobs) report.jobDone()
  },
)
