import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Cluster, kill } from './cluster.ts'

/** A way to lose the primary, or what it depends on. */
export interface Fault {
  readonly what: string
  /** Whether a standby has to take over. */
  readonly isLoss: boolean
  /** Returns when it has happened, and what ends it. */
  hit(cluster: Cluster, primary: number): Promise<() => Promise<void>>
}

type Process = Awaited<ReturnType<Cluster['processesOf']>>[number]

async function signal(cluster: Cluster, n: number, name: NodeJS.Signals, wanted: (one: Process) => boolean) {
  // Twice: PostgreSQL's processes come and go.
  for (let look = 0; look < 2; look += 1)
    for (const one of await cluster.processesOf(n)) if (wanted(one)) kill(one.pid, name)
}

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
    what: 'the disk of the primary is full',
    isLoss: true,
    async hit(cluster, n) {
      const file = join(cluster.dataOf(n), 'filler')
      const piece = Buffer.alloc(1_048_576)
      for (let isFull = false; !isFull; )
        await writeFile(file, piece, { flag: 'a' }).catch(() => {
          isFull = true
        })
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
  none: { what: 'no fault', isLoss: false, hit: async () => nothing },
}
