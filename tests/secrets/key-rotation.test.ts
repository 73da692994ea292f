import { newOrder } from '@shopwire/test-kit/people/buyer'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { startLoad, tally } from '@shopwire/test-kit/requests/load'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import {
  limitless,
  newEncryptionKey,
  type System,
  spawnProgram,
  startSystem,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { expect, test } from 'vitest'

const LINKS = 3_000
const SOON_MS = 60_000

test('threat 65: a new encryption key under load, one process after the other, values re-encrypted by a command that is killed and run again: no call fails', async ({
  annotate,
  onTestFinished,
}) => {
  const [old, next] = [newEncryptionKey('a'), newEncryptionKey('b')]
  const system = await startSystem({
    admission: 'postgres',
    apis: 2,
    // After the first round of restarts: all processes can read the new key, and none uses it.
    settings: {
      ...limitless,
      SHOPWIRE_ENCRYPTION_KEYS: `${old},${next}`,
      SHOPWIRE_SHUTDOWN_DELAY_MS: '1500',
    },
  })
  onTestFinished(() => system.stop())
  const worker = await system.startWorker()
  const shop = openShop(system)
  const [item = ''] = await shop.sell(1)
  await shop.stock(item, LINKS)
  const buyer = await shop.openBuyer(100_000)
  const [port = 0] = system.ports
  const { body } = await buyer.settle(port, newOrder({ id: item }))
  const first = () => buyer.readOrder(port, body.id)
  await until(
    async () => (await first()).status === 'delivered',
    SOON_MS,
    () => 'the first order is not delivered',
  )
  const { links } = await first()

  let sent = 0
  const load = startLoad({
    ports: system.ports,
    connectionsPerPort: 2,
    pauseMs: () => 20,
    // Reads links, buys some, and signs: by values under either key.
    request() {
      sent += 1
      // Few enough that the pool lasts on a fast machine.
      if (sent % 10 === 0)
        return sign(buyer.key, 'POST', '/v1/orders', JSON.stringify(newOrder({ id: item })))
      return sign(buyer.key, 'GET', `/v1/orders/${body.id}`)
    },
  })

  await rollOver(system, worker, `${next},${old}`)
  const killed = spawnProgram('admin', ['encryption', 're-encrypt'], system.settingsOf('operator'))
  const done = async () =>
    (await system.query(`select 1 from pool_links where link_kek_id = 'b' limit 1`)) !== ''
  await until(done, SOON_MS, () => 'nothing was re-encrypted')
  killed.kill('SIGKILL')
  const { keys: halfway } = await system.admin('encryption', 'status')
  for (const { secrets } of halfway) expect(secrets).toBeGreaterThan(0)
  expect(await system.admin('encryption', 're-encrypt')).toMatchObject({ active: 'b', unopened: 0, left: 0 })
  await rollOver(system, worker, next)

  const outcomes = await load.stop()
  await annotate(JSON.stringify({ ...tally(outcomes), lost: load.lost(), halfway }))
  expect(Object.keys(tally(outcomes)).sort()).toEqual(['200', '201'])
  expect(load.lost()).toBe(0)
  expect(await first()).toMatchObject({ status: 'delivered', links })
  // Keys made from now on are sealed under the new one, and nothing needs the old one.
  await system.createKey(buyer.account_id)
  const { keys } = await system.admin('encryption', 'status')
  expect(keys).toEqual([
    { id: 'b', secrets: expect.any(Number), configured: true, active: true, wrong: false },
  ])
  for (const each of system.ports)
    expect((await exchange(each, sign(buyer.key, 'GET', '/v1/ping').bytes)).status).toBe(200)
  expect((await system.admin('verify')).violations ?? []).toEqual([])
})

/** As an operator would: one process at a time, each asked to stop in good order. */
async function rollOver(system: System, worker: WorkerProcess, keys: string): Promise<void> {
  const changed = { SHOPWIRE_ENCRYPTION_KEYS: keys }
  for (const process of [...system.apis, worker]) {
    expect(await process.kill('SIGTERM')).toBe(0)
    await process.start(changed)
  }
  system.settings = { ...system.settings, ...changed }
}
