import { createFulfilment } from '../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../src/orders/fulfilment/fulfil-queue.ts'
import { wakeRestocked } from '../src/orders/fulfilment/wake-waiting.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createJobRunner } from '../src/platform/jobs/job-runner.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { operatorFetch } from '../src/platform/outbound/operator-fetch.ts'
import { every } from '../src/platform/process/every.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createObtainer } from '../src/supply/obtain.ts'
import type { TestDatabase } from './database.ts'
import type { Shop } from './shop.ts'

type WorkedShop = Pick<Shop, 'keyring' | 'vault' | 'journal'> & {
  readonly database: Pick<TestDatabase, 'worker'>
}

/** Runs a worker inside this process. */
export function startWorker(
  { database, keyring, vault, journal }: WorkedShop,
  logTo?: { write(line: string): void },
) {
  const { worker: db } = database
  const log = logTo ? createLog('debug', logTo) : createLog('silent')
  const metrics = createMetrics('test')
  const clock = systemClock
  const obtain = createObtainer({ db, keyring, clock, asksMax: 4, fetch: operatorFetch(), log, metrics })
  const work = createFulfilment({ db, vault, clock, log, metrics, obtain, journal })
  const runner = createJobRunner(db, {
    queue: FULFIL_QUEUE,
    subjectName: 'order_id',
    concurrency: 4,
    backlogMax: 2,
    log,
    metrics,
    work,
  })
  const wakeUps = every(
    10,
    async () => {
      while (await wakeRestocked(db));
    },
    () => {},
  )
  runner.start()
  wakeUps.start()
  return {
    metrics,
    async stop() {
      await wakeUps.stop()
      await runner.stop(2_000)
    },
  }
}
