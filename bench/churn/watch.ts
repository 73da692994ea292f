import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerProcess } from '@shopwire/test-kit/systems'
import type { Receiver } from '../webhooks/start-receiver.ts'
import { bucketsOf, type Scraped, scrape, sumOf } from './metrics.ts'

/** What the workers say about themselves, looked at twice a second. */
export interface Watch {
  delivered(): number
  /** Events that reached the receiver. */
  notified(): number
  /** How long claims have taken so far, as a histogram. */
  claims(): Map<number, number>
  /** In how many looks a queue had more jobs in work than slots. */
  slotsOver(): number
  /** Fails when a worker or the receiver does not answer. */
  readonly running: Promise<void>
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 500
const QUEUES = ['fulfil', 'deliver']

export async function watchWorkers(workers: readonly WorkerProcess[], receiver: Receiver): Promise<Watch> {
  let last: readonly Scraped[] = []
  let notified = 0
  let slotsOver = 0
  let isStopped = false

  async function look() {
    last = await Promise.all(workers.map(({ healthUrl }) => scrape(healthUrl)))
    notified += (await receiver.count()).received
    const isOver = QUEUES.some((queue) => {
      const label = `queue="${queue}"`
      const slots = (scraped: readonly Scraped[]) => sumOf(scraped, 'shopwire_worker_slots', label)
      const leased = sumOf(last, 'shopwire_queue_jobs', label, 'state="leased"')
      return (
        leased > slots(last) ||
        last.some((each) => sumOf([each], 'shopwire_worker_slots_in_use', label) > slots([each]))
      )
    })
    if (isOver) slotsOver += 1
  }

  async function repeat() {
    for (; !isStopped; await sleep(LOOK_EVERY_MS)) await look()
  }
  await look()
  const running = repeat()
  running.catch(() => {})
  return {
    delivered: () => sumOf(last, 'shopwire_orders_delivered_total'),
    notified: () => notified,
    claims: () => bucketsOf(last, 'shopwire_database_statement_duration_seconds', 'statement="claim_jobs"'),
    slotsOver: () => slotsOver,
    running,
    stop() {
      isStopped = true
      return running
    },
  }
}
