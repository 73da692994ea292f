import { setTimeout as sleep } from 'node:timers/promises'

export interface Sample {
  /** How many orders were placed when it was taken. */
  readonly placed: number
  readonly ms: number
}

export interface Probe {
  readonly samples: readonly Sample[]
  /** Measurements that failed, for example with a 503. A run of an hour does not end for one of them. */
  failures(): number
  readonly running: Promise<void>
  stop(): Promise<void>
}

/** Measures something again and again, one at a time, until it is stopped. */
export function startProbe(everyMs: number, placed: () => number, measure: () => Promise<number>): Probe {
  const samples: Sample[] = []
  let failures = 0
  let isStopped = false
  async function run() {
    while (!isStopped) {
      const nextMs = performance.now() + everyMs
      try {
        samples.push({ placed: placed(), ms: await measure() })
      } catch {
        failures += 1
      }
      await sleep(Math.max(0, nextMs - performance.now()))
    }
  }
  const running = run()
  return {
    samples,
    failures: () => failures,
    running,
    stop() {
      isStopped = true
      return running
    },
  }
}
