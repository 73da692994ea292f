import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@shopwire/test-kit/servers'
import { type ServerProcess, startScript } from '@shopwire/test-kit/systems'
import type { Contender } from './contender.ts'
import type { WorkerAnswer, WorkerSettings } from './worker-frame.ts'

/** The worker processes of one contender. */
export interface Fleet {
  kill(n: number): Promise<void>
  /** Starts a killed worker again. */
  start(n: number): Promise<void>
  /** Jobs done by the workers that run now. */
  done(): Promise<number>
  claimsMs(): Promise<number[]>
  /** How often a worker ended although nothing killed it. */
  exits(): number
  stop(): Promise<void>
}

interface Member {
  readonly process: ServerProcess
  readonly port: number
  isWanted: boolean
}

const WATCH_EVERY_MS = 100
/** As a process manager does. */
const RESTART_AFTER_MS = 1_000

export async function startFleet(
  { name, script, workerUrl: url }: Contender,
  folder: string,
  count: number,
  size: Pick<WorkerSettings, 'slots' | 'connections'>,
): Promise<Fleet> {
  const ports = await freePorts(count)
  const members = await Promise.all(
    ports.map(async (port): Promise<Member> => {
      const path = `${folder}/${name}-${port}.json`
      writeFileSync(path, JSON.stringify({ url, port, ...size } satisfies WorkerSettings), { mode: 0o600 })
      const process = await startScript(script, [path], { readyUrl: `http://127.0.0.1:${port}/` })
      return { process, port, isWanted: true }
    }),
  )
  const member = (n: number) => members[n] as Member
  let exits = 0
  let isStopped = false

  /** Restarts a worker that ended by itself. It may end again, for example while the database is down. */
  async function watch(each: Member) {
    for (; !isStopped; await sleep(WATCH_EVERY_MS)) {
      if (!each.isWanted || each.process.pid() !== undefined) continue
      exits += 1
      await sleep(RESTART_AFTER_MS)
      if (each.isWanted && !isStopped) await each.process.start().catch(() => {})
    }
  }
  const watching = Promise.all(members.map(watch))

  const ask = async ({ port }: Member): Promise<WorkerAnswer> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.json() as Promise<WorkerAnswer>,
      () => ({ done: 0, claimsMs: [] }),
    )
  return {
    async kill(n) {
      member(n).isWanted = false
      if (member(n).process.pid() !== undefined) await member(n).process.kill('SIGKILL')
    },
    async start(n) {
      await member(n).process.start()
      member(n).isWanted = true
    },
    done: async () => (await Promise.all(members.map(ask))).reduce((sum, { done }) => sum + done, 0),
    claimsMs: async () => (await Promise.all(members.map(ask))).flatMap(({ claimsMs }) => claimsMs),
    exits: () => exits,
    async stop() {
      isStopped = true
      await watching
      for (const { process } of members) if (process.pid() !== undefined) await process.kill('SIGKILL')
    },
  }
}
