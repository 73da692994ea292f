import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/** What every worker process is started with: a file of these, named by its only argument. */
export interface WorkerSettings {
  readonly url: string
  /** Answers how many jobs are done and how long the claims since the last question took. */
  readonly port: number
  /** How many jobs one process runs at a time. */
  readonly slots: number
  readonly connections: number
}

/** What a job carries. */
export interface JobData {
  readonly n: number
  readonly atMs: number
}

export interface WorkerAnswer {
  readonly done: number
  readonly claimsMs: readonly number[]
}

/** Of the jobs, where a contender wants one. */
export const QUEUE = 'bench'

/** All that a job does: one row in the table `done`. `$1` number, `$2` and `$3` when it was inserted and when it was started. */
export const RECORD_JOB = 'insert into done (n, inserted_ms, started_ms) values ($1, $2, $3)'

export function readSettings(): WorkerSettings {
  return JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as WorkerSettings
}

/** Makes the process answer; from then on it counts as started. */
export function answerOn(port: number): { jobDone(): void; claimed(ms: number): void } {
  let done = 0
  let claimsMs: number[] = []
  createServer((_, response) => {
    response.end(JSON.stringify({ done, claimsMs } satisfies WorkerAnswer))
    claimsMs = []
  }).listen(port, '127.0.0.1')
  return {
    jobDone() {
      done += 1
    },
    claimed: (ms) => void claimsMs.push(ms),
  }
}
