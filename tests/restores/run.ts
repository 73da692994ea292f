import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { type Key, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { findPostgres, findServiceUser, freePort, startPostgres, until } from '@shopwire/test-kit/servers'
import {
  type Ended,
  limitless,
  newItem,
  newLinks,
  openBackupRig,
  psql,
  runProgram,
  type Settings,
  startSystem,
} from '@shopwire/test-kit/systems'
import { seedDelivered } from './seed.ts'

/**
 * The restore drill: a store with so many orders is backed up, sells before and after a named second, is lost, restored to that second,
 * compared with its journal, opened and verified. Prints how long each step took.
 */
const { values } = parseArgs({ options: { orders: { type: 'string', default: '1000000' } } })
const seeded = Math.ceil(Number(values.orders) / 1_000) * 1_000
if (!(seeded > 0)) {
  process.stderr.write('usage: npm run restore-drill -- [--orders 1000000]\n')
  process.exit(2)
}
const AROUND = 20
const HOUR_MS = 3_600_000
const steps: Record<string, number> = {}
const rig = await openBackupRig()
const journal = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
// Flushed, as in production: the times would mean nothing otherwise.
const postgres = await startPostgres({
  durable: true,
  settings: { ...rig.postgresSettings, max_wal_size: '4GB', shared_buffers: '512MB' },
})
const settings = { ...limitless, SHOPWIRE_JOURNAL: journal }
const system = await startSystem({ admission: 'postgres', postgres, settings })
const superuser = new URL(postgres.superuserUrl)
superuser.pathname = new URL(system.database.ownerUrl).pathname
await timed('configuration and first backup, while it is empty', async () => ok(await rig.init(postgres)))
await timed(`${seeded} orders made`, () => seedDelivered(superuser.href, seeded))
const item = newItem(100)
await system.importItems([item])
await system.loadPool(item.id, newLinks(4 * AROUND))
const { key } = await system.createAccount({ balanceCents: 1_000_000 })
const worker = await system.startWorker()

await timed('full backup', async () => ok(await rig.run('full')))
await buy(key, AROUND)
const second = await nextSecond()
await buy(key, AROUND)
await timed('differential backup', async () => ok(await rig.run('diff')))
const tested = await timed('restore test', async () => ok(await rig.run('--json', 'test-restore')))
await Promise.all([...system.apis, worker].map((process) => process.kill('SIGKILL')))
await postgres.kill9()

const into = join(rig.folder, 'restored')
const restored = JSON.parse(
  await timed('restore to a named second', async () =>
    ok(await rig.run('--json', 'restore', '--to', second, '--into', into)),
  ),
)
if (restored.orders !== seeded + AROUND)
  throw new Error(`${restored.orders} orders instead of ${seeded + AROUND}`)
const port = await freePort()
await timed('PostgreSQL starts', () => pgCtl('start', port))
const url = new URL(system.database.processUrls.operator)
url.port = String(port)
const moved: Settings = { ...system.settings, SHOPWIRE_DATABASE_URL: url.href, SHOPWIRE_ACTOR: 'drill' }
const admin = async (...args: string[]) => ok(await runProgram('admin', args, moved, { msMax: HOUR_MS }))
await timed('recover', async () => {
  const [, identity = ''] = /--identity (\S+)$/m.exec(await admin('recover', 'status')) ?? []
  const compared = JSON.parse(await admin('--json', 'recover', 'compare', '--apply'))
  if (compared.orders.length !== AROUND) throw new Error(`${compared.orders.length} orders are missing`)
  await admin('recover', 'open', '--identity', identity)
})
await timed('verify', () => admin('verify'))
process.stdout.write(
  `${JSON.stringify({ drill: 'restore', second, test: JSON.parse(tested), restored, seconds: steps })}\n`,
)
await pgCtl('stop', port)
await Promise.all([rig.close(), rm(journal, { recursive: true, force: true })])
await postgres.stop()
process.exit(0)

async function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const startedMs = performance.now()
  const result = await work()
  steps[name] = Math.round((performance.now() - startedMs) / 100) / 10
  process.stdout.write(`${name}: ${steps[name]} s\n`)
  return result
}

function ok({ code, stdout, stderr }: Ended): string {
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** And waits until they are delivered. */
async function buy(caller: Key, count: number) {
  for (let n = 0; n < count; n += 1) {
    const body = JSON.stringify({ items: [{ id: item.id }], idempotency_key: randomUUID() })
    const { status } = await fetch(`http://127.0.0.1:${system.ports[0]}/v1/orders`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signedHeaders(caller, 'POST', '/v1/orders', body),
      },
      body,
    })
    if (status !== 201) throw new Error(`an order was answered with ${status}`)
  }
  const waiting = `select count(*) from orders where status = 'paid'`
  await until(
    async () => (await psql(superuser.href, waiting)) === '0',
    HOUR_MS,
    () => 'orders are not delivered',
  )
}

async function nextSecond(): Promise<string> {
  const at = Math.ceil((Date.now() + 1) / 1_000) * 1_000
  await sleep(at - Date.now() + 10)
  return new Date(at).toISOString().replace('.000', '')
}

/** On the restored data, as its user. */
async function pgCtl(what: 'start' | 'stop', on: number) {
  const user = findServiceUser()
  const options = `-p ${on} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`
  const args = ['--pgdata', into, '--log', join(into, 'server.log'), '--options', options, '--wait', what]
  const as = user && { uid: user.uid, gid: user.gid }
  await promisify(execFile)(join(findPostgres(), 'pg_ctl'), args, { cwd: '/', ...as })
}
