import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync } from 'node:fs'
import { chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres, makeSlowDisk, type Postgres, type SlowDisk, until } from '@shopwire/test-kit/servers'
import pg from 'pg'

/** Three nodes, each with etcd, Patroni and PostgreSQL in a network of its own, and HAProxy before them, as deploy/ha configures them. */
export interface Cluster {
  /** At HAProxy, wherever the primary is. Start and stop are Patroni's. */
  readonly postgres: Postgres
  readonly folder: string
  /** Starts what is missing of a node. */
  startNode(n: number): Promise<void>
  /** The node whose PostgreSQL is the primary. */
  leader(): Promise<number | undefined>
  /** Two standbys follow it, and one of them is synchronous. */
  untilHealthy(msMax: number): Promise<void>
  /** At the primary, as superuser; fails at once while there is none. */
  query<Row extends object>(text: string, msMax?: number): Promise<Row[]>
  /** Everything that runs on a node; `title` is what it says that it is doing. */
  processesOf(n: number): Promise<{ readonly pid: number; readonly name: string; readonly title: string }[]>
  cut(n: number): Promise<void>
  mend(n: number): Promise<void>
  switchOver(): Promise<void>
  /** Of PostgreSQL's data of a node, on a file system of its own. */
  dataOf(n: number): string
  /** Every flush on this node takes so many milliseconds longer. */
  slowDown(n: number, ms: number): Promise<void>
  stop(): Promise<void>
}

export interface ClusterOptions {
  /** As Debian 12 ships it: a primary that was paused comes back as one. */
  readonly isPatroniUnpatched: boolean
  readonly isSynchronous: boolean
}

export const NODES = [1, 2, 3] as const
const HA = new URL('../../deploy/ha/', import.meta.url)
const GATEWAY = '10.77.0.1'
const PORT = 5_000
/** Memory: a disk that is shared with the load generator would decide the times. */
const DATA_SIZE = '1500m'
const START_MS_MAX = 90_000
const LOOK_MS_MAX = 1_500
const run = promisify(execFile)

const addressOf = (n: number) => `10.77.0.1${n}`

/** To be called in a network and with mounts of its own (runAgainInPublicNetwork): what it adds to them goes with the process. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-ha-'))
  const password = randomBytes(12).toString('hex')
  const { uid, gid } = await postgresUser()
  const library = await patroniLibrary(folder, options)
  const dataOf = (n: number) => join(folder, `node${n}`, 'data')
  const disks = new Map<number, SlowDisk>()
  const url = (user: string, secret: string, database: string) =>
    `postgres://${user}:${secret}@127.0.0.1:${PORT}/${database}`
  const superuserUrl = url('postgres', password, 'postgres')

  await layNetwork()
  for (const n of NODES) await prepareNode(n)
  for (const n of NODES) await startNode(n)
  await startProxy()

  async function prepareNode(n: number) {
    const home = join(folder, `node${n}`)
    await mkdir(join(home, 'data'), { recursive: true })
    await run('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${DATA_SIZE},uid=${uid},gid=${gid},mode=700`,
      'tmpfs',
      join(home, 'data'),
    ])
    const disk = await makeSlowDisk()
    if (!disk) throw new Error('there is no C compiler: apt-get install gcc')
    disks.set(n, disk)
    await linkPrograms(join(home, 'bin'), disk)
    for (const file of ['etcd.env', 'patroni.yml']) {
      const text = await readFile(new URL(file, HA), 'utf8')
      await writeFile(join(home, file), adapted(file, asNode(text, n), home, options))
    }
    for (const path of [folder, home, join(home, 'patroni.yml')]) await chown(path, uid, gid)
  }

  async function startNode(n: number) {
    const home = join(folder, `node${n}`)
    const names = (await processesOf(n)).map(({ name }) => name)
    if (!names.some((name) => name.startsWith('etcd'))) {
      const own = Object.fromEntries(
        (await readFile(join(home, 'etcd.env'), 'utf8'))
          .split('\n')
          .filter((line) => line.startsWith('ETCD_'))
          .map((line) => line.split(/=(.*)/s).slice(0, 2)),
      )
      launch(n, 'etcd', ['etcd', '--data-dir', join(home, 'etcd')], { ...own, HOME: home })
    }
    if (names.includes('patroni')) return
    launch(
      n,
      'patroni',
      [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', 'patroni', join(home, 'patroni.yml')],
      {
        HOME: home,
        ...(library && { PYTHONPATH: library }),
        PATRONI_SUPERUSER_PASSWORD: password,
        PATRONI_REPLICATION_PASSWORD: password,
        PATRONI_REWIND_PASSWORD: password,
      },
    )
  }

  /** In the network of the node. It ends with this process group at the latest. */
  function launch(n: number, name: string, command: readonly string[], env: Record<string, string>) {
    const log = openSync(join(folder, `node${n}`, `${name}.log`), 'a')
    spawn('ip', ['netns', 'exec', `node${n}`, 'setpriv', '--pdeathsig=KILL', ...command], {
      env: { PATH: `${findPostgres()}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`, ...env },
      cwd: join(folder, `node${n}`),
      stdio: ['ignore', log, log],
      detached: true,
    }).unref()
  }

  async function startProxy() {
    const log = openSync(join(folder, 'haproxy.log'), 'a')
    const config = new URL('haproxy.cfg', HA).pathname
    spawn('setpriv', ['--pdeathsig=KILL', 'haproxy', '-f', config], { stdio: ['ignore', log, log] }).unref()
    await until(
      async () =>
        (await leader()) !== undefined &&
        (await query('select 1').then(
          () => true,
          () => false,
        )),
      START_MS_MAX,
      () => `no primary answers; see ${folder}`,
    )
  }

  async function query<Row extends object>(
    text: string,
    msMax = 10_000,
    database = 'postgres',
  ): Promise<Row[]> {
    const client = new pg.Client({
      connectionString: url('postgres', password, database),
      connectionTimeoutMillis: Math.min(msMax, LOOK_MS_MAX),
      query_timeout: msMax,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(text)).rows as Row[]
    } finally {
      void client.end().catch(() => {})
    }
  }

  async function leader(): Promise<number | undefined> {
    for (const n of NODES) {
      const answer = await fetch(`http://${addressOf(n)}:8008/primary`, {
        signal: AbortSignal.timeout(LOOK_MS_MAX),
      }).catch(() => undefined)
      await answer?.body?.cancel()
      if (answer?.status === 200) return n
    }
    return undefined
  }

  return {
    postgres: atProxy({ superuserUrl, url, folder }),
    folder,
    startNode,
    leader,
    dataOf,
    processesOf,
    query: (text, msMax) => query(text, msMax, 'shopwire'),
    untilHealthy: async (msMax) =>
      void (await until(
        async () => {
          const [row] = await query<{ streaming: number; synchronous: number }>(
            `select count(*)::integer as streaming,
                    count(*) filter (where sync_state in ('sync', 'quorum'))::integer as synchronous
               from pg_stat_replication
              where state = 'streaming'`,
          ).catch(() => [])
          return row?.streaming === 2 && row.synchronous === (options.isSynchronous ? 1 : 0)
        },
        msMax,
        () => `two standbys do not follow; see ${folder}`,
      )),
    cut: async (n) => void (await run('ip', ['link', 'set', `v${n}`, 'down'])),
    slowDown: async (n, ms) => disks.get(n)?.slowDown(ms),
    mend: async (n) => void (await run('ip', ['link', 'set', `v${n}`, 'up'])),
    async switchOver() {
      const config = join(folder, 'node1', 'patroni.yml')
      await run('patronictl', ['-c', config, 'switchover', '--force'], {
        env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
      })
    },
    async stop() {
      for (const n of NODES) for (const { pid } of await processesOf(n)) kill(pid, 'SIGKILL')
      for (const n of NODES) await run('umount', ['--lazy', dataOf(n)])
      for (const disk of disks.values()) await disk.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

async function processesOf(n: number) {
  const { stdout } = await run('ip', ['netns', 'pids', `node${n}`])
  const pids = stdout.split('\n').filter(Boolean).map(Number)
  const named = await Promise.all(
    pids.map(async (pid) => ({
      pid,
      name: (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim(),
      title: (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '),
    })),
  )
  return named.filter(({ name }) => name !== '')
}

/** A bridge with the nodes; the rest of the system is on this side of it. */
async function layNetwork() {
  const ip = (...args: string[]) => run('ip', args)
  // Names of networks are files there; those of an earlier run would be in the way.
  await mkdir('/run/netns', { recursive: true })
  await run('mount', ['-t', 'tmpfs', 'tmpfs', '/run/netns'])
  await ip('link', 'add', 'ha0', 'type', 'bridge')
  await ip('addr', 'add', `${GATEWAY}/24`, 'dev', 'ha0')
  await ip('link', 'set', 'ha0', 'up')
  for (const n of NODES) {
    await ip('netns', 'add', `node${n}`)
    await ip('link', 'add', `v${n}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `node${n}`)
    await ip('link', 'set', `v${n}`, 'master', 'ha0', 'up')
    await ip('-n', `node${n}`, 'addr', 'add', `${addressOf(n)}/24`, 'dev', 'eth0')
    for (const device of ['eth0', 'lo']) await ip('-n', `node${n}`, 'link', 'set', device, 'up')
  }
}

/** The shipped files are those of node1; only its own lines name its addresses alone. */
const asNode = (text: string, n: number) =>
  text
    .split('\n')
    .map((line) =>
      /node2|10\.77\.0\.12/.test(line)
        ? line
        : line.replaceAll('node1', `node${n}`).replaceAll(addressOf(1), addressOf(n)),
    )
    .join('\n')

function adapted(file: string, text: string, home: string, { isSynchronous }: ClusterOptions): string {
  if (file !== 'patroni.yml') return text
  const own = text
    .replace('/usr/lib/postgresql/15/bin', join(home, 'bin'))
    .replace('/var/lib/postgresql/15/main', join(home, 'data', 'main'))
    // Small machines: a gigabyte of WAL does not fit into a node's memory.
    .replace(
      'wal_keep_size: 1GB',
      'wal_keep_size: 128MB\n        max_wal_size: 256MB\n        shared_buffers: 64MB',
    )
    .replace("hot_standby: 'on'", "hot_standby: 'on'\n        unix_socket_directories: ''")
  return isSynchronous
    ? own
    : own
        .replace('synchronous_mode: true', 'synchronous_mode: false')
        .replace('synchronous_mode_strict: true', 'synchronous_mode_strict: false')
}

/** PostgreSQL's programs, of which the server has a disk that can become slow: Patroni passes no environment on. */
async function linkPrograms(bin: string, { env }: SlowDisk): Promise<void> {
  await mkdir(bin)
  const installed = findPostgres()
  for (const name of await readdir(installed)) await symlink(join(installed, name), join(bin, name))
  const settings = Object.entries(env).map(([name, value]) => `${name}='${value}'`)
  await rm(join(bin, 'postgres'))
  await writeFile(
    join(bin, 'postgres'),
    `#!/bin/sh\n${settings.join(' ')} exec ${join(installed, 'postgres')} "$@"\n`,
    { mode: 0o755 },
  )
}

async function postgresUser() {
  const of = async (what: string) => Number((await run('id', [what, 'postgres'])).stdout)
  return { uid: await of('-u'), gid: await of('-g') }
}

/** Debian's Patroni with the patch that deploy/ha documents; undefined when the one that is installed is used as it is. */
async function patroniLibrary(
  folder: string,
  { isPatroniUnpatched }: ClusterOptions,
): Promise<string | undefined> {
  const { stdout } = await run('patroni', ['--version'])
  if (isPatroniUnpatched || !stdout.includes(' 3.0.2')) return undefined
  const library = join(folder, 'python')
  const { stdout: installed } = await run('/usr/bin/python3', [
    '-c',
    'import patroni; print(patroni.__path__[0])',
  ])
  await cp(installed.trim(), join(library, 'patroni'), { recursive: true })
  await run('patch', ['-p0', '-d', library, '-i', new URL('patroni-3.0.2.patch', HA).pathname])
  return library
}

/** What the rest of the test kit needs of a server. */
function atProxy({
  superuserUrl,
  url,
  folder,
}: Pick<Postgres, 'superuserUrl' | 'url'> & { folder: string }): Postgres {
  const byPatroni = async () => {
    throw new Error('Patroni starts and stops PostgreSQL')
  }
  return {
    host: '127.0.0.1',
    port: PORT,
    version: '',
    dir: folder,
    superuserUrl,
    url,
    pid: () => undefined,
    stop: byPatroni,
    kill9: byPatroni,
    start: byPatroni,
    restart: byPatroni,
  }
}
