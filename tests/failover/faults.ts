import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fillDisk } from '@shopwire/test-kit/servers'
import { type Cluster, kill, NODES } from './cluster.ts'
import type { Sentinels } from './sentinels.ts'

/** A way to lose the primary, or what it depends on. */
export interface Fault {
  readonly what: string
  /** Whether a standby has to take over. */
  readonly isLoss: boolean
  /** After this it is mended, and the store has to sell again; without it the store has to sell before it is mended. */
  readonly lastsMs?: number
  /** Returns when it has happened, and what ends it. */
  hit(cluster: Cluster, primary: number, redis: Sentinels | undefined): Promise<() => Promise<void>>
}

type Process = Awaited<ReturnType<Cluster['processesOf']>>[number]

async function signal(cluster: Cluster, n: number, name: NodeJS.Signals, wanted: (one: Process) => boolean) {
  // Twice: PostgreSQL's processes come and go.
  for (let look = 0; look < 2; look += 1)
    for (const one of await cluster.processesOf(n)) if (wanted(one)) kill(one.pid, name)
}

const SLOW_MS = 1_500
/** How far the standbys are behind when the primary dies. */
const BEHIND_MS = 2_000
const everything = () => true
const isPostgres = ({ name }: Process) => name.startsWith('postgres')

const killNode = async (cluster: Cluster, n: number) => {
  await signal(cluster, n, 'SIGKILL', everything)
  return () => cluster.startNode(n)
}

const pause = (wanted: (one: Process) => boolean) => async (cluster: Cluster, n: number) => {
  await signal(cluster, n, 'SIGSTOP', wanted)
  return () => signal(cluster, n, 'SIGCONT', wanted)
}

const nothing = async () => {}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'kill-postgres': {
    what: 'kill -9 of PostgreSQL',
    isLoss: true,
    async hit(cluster, n) {
      await signal(cluster, n, 'SIGKILL', isPostgres)
      return nothing
    },
  },
  'kill-machine': { what: 'kill -9 of everything on the machine', isLoss: true, hit: killNode },
  'kill-ahead': {
    what: 'kill -9 of everything on the machine while no standby has had its last two seconds',
    isLoss: true,
    async hit(cluster, n) {
      const standbys = NODES.filter((one) => one !== n)
      // A stopped receiver would not do: it finds the rest in its socket's buffer when it goes on.
      for (const one of standbys) await cluster.cut(one)
      await sleep(BEHIND_MS)
      const mend = await killNode(cluster, n)
      for (const one of standbys) await cluster.mend(one)
      return mend
    },
  },
  'pause-machine': { what: 'the machine stands still and comes back', isLoss: true, hit: pause(everything) },
  'pause-postgres': { what: 'PostgreSQL stands still and comes back', isLoss: true, hit: pause(isPostgres) },
  'cut-machine': {
    what: 'the network of the machine is cut and mended',
    isLoss: true,
    async hit(cluster, n) {
      await cluster.cut(n)
      return () => cluster.mend(n)
    },
  },
  'full-disk': {
    what: 'the disk of the primary is full for ten seconds',
    isLoss: false,
    lastsMs: 10_000,
    async hit(cluster, n) {
      const file = join(cluster.dataOf(n), 'filler')
      await fillDisk(file)
      return () => rm(file, { force: true })
    },
  },
  switchover: {
    what: 'a planned switchover',
    isLoss: true,
    async hit(cluster) {
      void cluster.switchOver().catch(nothing)
      return nothing
    },
  },
  'kill-standby': {
    what: 'kill -9 of everything on the synchronous standby',
    isLoss: false,
    async hit(cluster) {
      const [row] = await cluster.query<{ name: string }>(
        "select application_name as name from pg_stat_replication where sync_state = 'sync'",
      )
      return killNode(cluster, Number(row?.name.slice('node'.length)))
    },
  },
  'slow-disk': {
    what: 'every flush on the primary takes a second and a half longer, for fifteen seconds',
    isLoss: false,
    lastsMs: 15_000,
    async hit(cluster, n) {
      await cluster.slowDown(n, SLOW_MS)
      return () => cluster.slowDown(n, 0)
    },
  },
  'kill-redis': {
    what: 'kill -9 of the Redis master, which its sentinels replace',
    isLoss: false,
    async hit(_cluster, _primary, redis) {
      if (!redis) throw new Error('there is no Redis: --redis')
      return redis.killMaster()
    },
  },
  none: { what: 'no fault', isLoss: false, hit: async () => nothing },
}
