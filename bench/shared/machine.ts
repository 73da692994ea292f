import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from './figures.ts'

const TICKS_PER_SECOND = 100
const QUIET_LOAD = 3
const QUIET_WAIT_MS_MAX = 300_000
const LOOK_EVERY_MS = 5_000

/** Waits until the machine has little else to do, or refuses. */
export async function untilQuiet(): Promise<void> {
  const load = () => loadavg()[0] as number
  if (load() >= QUIET_LOAD) say(`the load is ${load().toFixed(1)}: waiting until it is below ${QUIET_LOAD}`)
  const deadline = performance.now() + QUIET_WAIT_MS_MAX
  while (load() >= QUIET_LOAD) {
    if (performance.now() > deadline)
      throw Object.assign(
        new Error(
          `the load is still ${load().toFixed(1)} after five minutes: end other work, or measure without --quiet`,
        ),
        { code: 'CANNOT_BEGIN' },
      )
    await sleep(LOOK_EVERY_MS)
  }
}

/** What the whole machine did while something ran. */
export interface MachineUse {
  /** Processor time of the load generator: of programs that this process started and that have ended. */
  readonly loadMs: number
  /** The part of all processors' time in which they had nothing to do, from 0 to 1. */
  readonly idle: number
}

/** Runs the work and says what the machine did meanwhile. NaN where the system does not tell. */
export async function watchMachine<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result } & MachineUse> {
  const before = look()
  const beganMs = performance.now()
  const result = await work()
  const after = look()
  const availableMs = (performance.now() - beganMs) * availableParallelism()
  return { result, loadMs: after.loadMs - before.loadMs, idle: (after.idleMs - before.idleMs) / availableMs }
}

function look(): { loadMs: number; idleMs: number } {
  const ticks = (path: string, fields: readonly number[], after: RegExp) => {
    try {
      const [, text = ''] = after.exec(readFileSync(path, 'utf8')) ?? []
      const values = text.trim().split(/\s+/)
      return fields.reduce((sum, field) => sum + Number(values[field]), 0)
    } catch {
      return Number.NaN
    }
  }
  const toMs = (count: number) => (1000 * count) / TICKS_PER_SECOND
  return {
    // Times of children that have ended, in user and in system mode; the name before them may contain anything.
    loadMs: toMs(ticks('/proc/self/stat', [13, 14], /\) (.*)/)),
    // Idle, and waiting for a disk.
    idleMs: toMs(ticks('/proc/stat', [3, 4], /^cpu +(.*)/)),
  }
}
