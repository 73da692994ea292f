import { rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendantsOf, fillDisk, type SlowDisk, send } from '@shopwire/test-kit/servers'
import type { ServerProcess, System } from '@shopwire/test-kit/systems'
import type { Wire } from './wires.ts'

/** Everything that can be broken. */
export interface Rig {
  readonly system: System
  /** Processes of the store, each with the file that says by how many milliseconds its clock is off. */
  readonly processes: readonly {
    readonly name: string
    readonly server: ServerProcess
    readonly clock: string
  }[]
  /** Between the processes and PostgreSQL, and between callers and each API process. */
  readonly toDatabase: Wire
  readonly toApis: readonly Wire[]
  readonly slowDisk: SlowDisk | undefined
  /** On the disk of PostgreSQL, which only they and it use. */
  readonly filler: string | undefined
}

/** Breaks something, waits, and mends it. Returns what it broke, in words; undefined when that cannot be broken here. */
export type Kind = (rig: Rig, random: () => number) => Promise<string | undefined>

const SHORT_MS = [500, 4_000] as const
const SKEW_MS_MAX = 120_000
const SLOW_MS_MAX = 1_500
const ANSWERS_LOST_MAX = 20

const between = (random: () => number, [least, most]: readonly [number, number]) =>
  Math.round(least + random() * (most - least))
const pick = <Choice>(random: () => number, choices: readonly Choice[]) =>
  choices[Math.floor(random() * choices.length)] as Choice

export const KINDS: Readonly<Record<string, Kind>> = {
  'kill-postgres': async ({ system }) => {
    await system.postgres.restart('kill9')
    return 'PostgreSQL killed'
  },
  'kill-process': async ({ processes }, random) => {
    const { name, server } = pick(random, processes)
    await server.kill('SIGKILL')
    await server.start()
    return `${name} killed`
  },
  'pause-postgres': async ({ system }, random) => {
    const pid = system.postgres.pid()
    if (pid === undefined) return undefined
    await pause([pid, ...descendantsOf(pid)], between(random, SHORT_MS))
    return 'PostgreSQL stood still'
  },
  'pause-process': async ({ processes }, random) => {
    const { name, server } = pick(random, processes)
    const pid = server.pid()
    if (pid === undefined) return undefined
    await pause([pid], between(random, SHORT_MS))
    return `${name} stood still`
  },
  'cut-network': async ({ toDatabase, toApis }, random) => {
    const wire = random() < 0.7 ? toDatabase : pick(random, toApis)
    wire.cut()
    await sleep(between(random, SHORT_MS))
    wire.mend()
    return wire === toDatabase ? 'the network to PostgreSQL was cut' : 'the network to an API was cut'
  },
  'lost-answers': async ({ toDatabase, toApis }, random) => {
    const count = between(random, [1, ANSWERS_LOST_MAX])
    for (const wire of [toDatabase, ...toApis]) wire.loseAnswers(count)
    return `${count} answers lost on each way`
  },
  'wrong-clock': async ({ processes }, random) => {
    const { name, clock } = pick(random, processes)
    const ms = between(random, [-SKEW_MS_MAX, SKEW_MS_MAX])
    await writeFile(clock, String(ms))
    await sleep(between(random, SHORT_MS))
    await writeFile(clock, '0')
    return `the clock of ${name} was off by ${ms} ms`
  },
  'slow-disk': async ({ slowDisk }, random) => {
    if (!slowDisk) return undefined
    const ms = between(random, [100, SLOW_MS_MAX])
    await slowDisk.slowDown(ms)
    await sleep(between(random, SHORT_MS))
    await slowDisk.slowDown(0)
    return `each flush took ${ms} ms longer`
  },
  'full-disk': async ({ filler }, random) => {
    if (filler === undefined) return undefined
    await fillDisk(filler)
    await sleep(between(random, SHORT_MS))
    await rm(filler)
    return 'the disk was full'
  },
}

async function pause(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) send(pid, 'SIGSTOP')
  await sleep(ms)
  for (const pid of pids) send(pid, 'SIGCONT')
}
