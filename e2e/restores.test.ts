import { execFile } from 'node:child_process'
import { chown, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  findPostgres,
  findServiceUser,
  freePorts,
  makeTemporaryFolder,
  type Postgres,
  provisionDatabase,
  removeTemporaryFolder,
  startPostgres,
  temporaryParent,
  until,
} from '@shopwire/engines'
import {
  capture,
  runProgram,
  type Settings,
  spawnProgram,
  startApi,
  startSupplier,
  startSystem,
} from '@shopwire/harness'
import { expect, onTestFinished, test } from 'vitest'
import { newOrder } from './support/buyer.ts'
import { connect } from './support/connection.ts'
import { openShop } from './support/shop.ts'

const SOON_MS = 30_000
/** A worker asks for jobs ten times a second: it would have taken one up by now. */
const QUIET_MS = 2_000

test('a database recovered to a point in time buys nothing from suppliers and delivers nothing until an operator confirms it', async () => {
  const system = await startSystem({ admission: 'postgres' })
  onTestFinished(() => system.stop())
  const shop = await openShop(system)
  const supplier = await startSupplier()
  onTestFinished(() => supplier.close())
  const [item = ''] = await shop.sell(100)
  await system.admin('suppliers', 'create', 'maker', supplier.url)
  await system.admin('supply', 'set', item, '--supplier', 'maker')
  const buyer = await shop.openBuyer(1_000)
  const [port = 0] = system.ports
  const { body: order } = await buyer.settle(port, newOrder({ id: item }))

  const copy = await recoverCopy(system.postgres)
  onTestFinished(() => copy.stop())
  const { appUrl } = await provisionDatabase(copy, 'shopwire')
  const settings = { ...system.settings, SHOPWIRE_DATABASE_URL: appUrl }
  const admin = async (...args: string[]) => runProgram('admin', args, settings)
  const api = await startApi(settings)
  onTestFinished(() => void api.kill('SIGKILL'))
  const worker = await startUnreadyWorker(settings)
  await until(
    async () => /is not the one the store last ran on/.test((await worker.readyz()).text),
    SOON_MS,
    () => `the worker does not say why it does nothing:\n${worker.logs()}`,
  )
  await sleep(QUIET_MS)
  expect((await worker.readyz()).status).toBe(503)
  expect(supplier.asked).toEqual([])
  expect((await buyer.readOrder(api.port, order.id)).status).toBe('paid')
  const via = await connect(api.port)
  expect(await buyer.place(via, newOrder({ id: item }))).toMatchObject({
    status: 503,
    body: { error: { type: 'store_closed' } },
  })

  const status = await admin('database', 'status')
  expect(status.stdout).toContain('The timeline differs')
  const [, identity = ''] = /--identity (\S+\/2)$/m.exec(status.stdout) ?? []
  expect((await admin('database', 'confirm', '--identity', identity)).code).toBe(0)
  const confirmedMs = performance.now()
  await until(
    async () => (await buyer.readOrder(api.port, order.id)).status === 'delivered',
    SOON_MS,
    () => 'the order is not delivered',
  )
  await until(
    async () => (await worker.readyz()).status === 200,
    SOON_MS,
    () => 'the worker is not ready',
  )
  expect(performance.now() - confirmedMs).toBeLessThan(10_000)
  expect(await buyer.place(via, newOrder({ id: item }))).toMatchObject({ status: 201 })
  via.close()
  await shop.close()
})

/** A base backup of a running server, recovered to the moment it is consistent: the same data on a timeline of its own. */
async function recoverCopy(postgres: Postgres): Promise<Postgres> {
  const user = findServiceUser()
  const dir = await makeTemporaryFolder(temporaryParent(user), 'recovered')
  onTestFinished(() => removeTemporaryFolder(dir))
  const data = join(dir, 'data')
  const args = ['--pgdata', data, '--checkpoint', 'fast', '--no-sync', '--dbname', postgres.superuserUrl]
  await promisify(execFile)(join(findPostgres(), 'pg_basebackup'), args)
  await writeFile(join(data, 'recovery.signal'), '')
  await writeFile(join(dir, 'superuser-password'), `${new URL(postgres.superuserUrl).password}\n`, {
    mode: 0o600,
  })
  if (user) {
    const entries = await readdir(dir, { recursive: true })
    for (const path of ['', ...entries]) await chown(join(dir, path), user.uid, user.gid)
  }
  const settings = {
    restore_command: 'false',
    recovery_target: 'immediate',
    recovery_target_action: 'promote',
  }
  return startPostgres({ dir, settings })
}

/** Others wait until a worker is ready; this one is not meant to be. */
async function startUnreadyWorker(settings: Settings) {
  const [healthPort = 0] = await freePorts(1)
  const child = spawnProgram('worker', [], { ...settings, SHOPWIRE_HEALTH_PORT: String(healthPort) })
  onTestFinished(() => void child.kill('SIGKILL'))
  const logs = capture(child, 'stdout')
  return {
    logs,
    readyz: () =>
      fetch(`http://127.0.0.1:${healthPort}/readyz`).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        () => ({ status: 0, text: '' }),
      ),
  }
}
