import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { openMachine, variablesOf } from '@shopwire/test-kit/pages/runbook'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { connect } from '@shopwire/test-kit/requests/connection'
import { until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { ageMemory, limitless, psql, START_MS_MAX, startSystem } from '@shopwire/test-kit/systems'
import { expect, onTestFinished, test } from 'vitest'

/** A PostgreSQL that is there and does not answer. */
const env = { PATH: `/usr/sbin:${process.env.PATH}` }
const run = (program: string, args: string[]) => promisify(execFile)(program, args, { env })
const DEADLINE_MS = 10_000
const SOON_MS = 30_000

async function openStore() {
  const system = await startSystem({ admission: 'redis', settings: limitless })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  const [item = ''] = await shop.sell(100)
  const buyer = await shop.openBuyer(1_000)
  const port = system.ports[0] as number
  const place = async (order: ReturnType<typeof newOrder>) => {
    const via = await connect(port)
    try {
      const { status, headers, sentMs, receivedMs } = await buyer.place(via, order)
      return { status, headers, tookMs: receivedMs - sentMs }
    } finally {
      via.close()
    }
  }
  return { postgres: system.postgres, system, shop, buyer, port, place, order: newOrder({ id: item }) }
}

test('threat 8: while the synchronous standby stands still no order is confirmed; each caller gets 503 in time, and its retry settles it', {
  timeout: 2 * START_MS_MAX,
}, async () => {
  const { postgres, system, shop, buyer, port, place, order } = await openStore()
  const machine = await openMachine()
  const variables = variablesOf(postgres)
  await machine.run('restore', 'standby', variables)
  await machine.run('restore', 'synchronous', variables)
  await until(
    async () => (await system.query('select sync_state from pg_stat_replication')) === 'quorum',
    SOON_MS,
    () => 'the standby is not synchronous',
  )
  // A new memory of nonces is also kept in the database: the request would wait there, before its order.
  await ageMemory(system)
  const standby = machine.moved(system.superuserUrl)
  const receiver = Number(await psql(standby, 'select pid from pg_stat_wal_receiver'))
  process.kill(receiver, 'SIGSTOP')
  let isStopped = true
  const goOn = () => {
    if (isStopped) process.kill(receiver, 'SIGCONT')
    isStopped = false
  }
  onTestFinished(goOn)

  const first = await place(order)
  expect(first.status).toBe(503)
  expect(first.tookMs).toBeLessThan(DEADLINE_MS)
  // Its transaction still waits in the primary, and holds its locks.
  const again = await place(order)
  expect(again.status).toBe(503)
  expect(again.tookMs).toBeLessThan(DEADLINE_MS)
  expect(await psql(standby, 'select count(*) from orders')).toBe('0')

  goOn()
  const settled = await buyer.settle(port, order)
  expect(settled.status).toBe(200)
  const count = `select count(*) from orders where idempotency_key = '${order.idempotency_key}'`
  expect([await system.query(count), await psql(standby, count)]).toEqual(['1', '1'])
  await shop.expectCleanBooks()
})

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  "threat 12: packets between API and PostgreSQL vanish: 503 in time, the connections are dropped, and it sells again when the network is back (on Linux as root: by the kernel's packet filter)",
  {
    timeout: 2 * START_MS_MAX,
  },
  async () => {
    const { postgres, system, shop, buyer, port, place, order } = await openStore()
    expect((await place(newOrder({ id: order.items[0]?.id ?? '' }))).status).toBe(201)
    const pid = system.apis[0]?.pid()
    expect(await openSockets(postgres.port)).toBeGreaterThan(0)

    const network = await cutNetwork(postgres.port)
    const [first, second] = await Promise.all([place(order), place(order)])
    for (const { status, tookMs } of [first, second]) {
      expect(status).toBe(503)
      expect(tookMs).toBeLessThan(DEADLINE_MS)
    }
    // Those in use at the deadline of their statement, the idle ones by the kernel's probes.
    await until(
      async () => (await openSockets(postgres.port)) === 0,
      SOON_MS,
      () => 'connections that lead nowhere are kept',
    )
    await network.end()
    const settled = await buyer.settle(port, order)
    expect(settled.status).toBe(201)
    expect(system.apis[0]?.pid()).toBe(pid)
    await shop.expectCleanBooks()
  },
)

/** Connections to the port that this machine takes for open. */
async function openSockets(port: number): Promise<number> {
  const { stdout } = await run('ss', ['-Htn', 'state', 'established', 'dport', '=', `:${port}`])
  return stdout.split('\n').filter((line) => line !== '').length
}

/** Drops every packet from and to this port of this machine without a word. The rules end with the program that owns them. */
async function cutNetwork(port: number) {
  const table = `shopwire_test_${port}`
  const nft = spawn('nft', ['-i'], { env, stdio: ['pipe', 'ignore', 'inherit'] })
  const exited = once(nft, 'exit')
  nft.stdin.write(`add table inet ${table} { flags owner; }
add chain inet ${table} out { type filter hook output priority 0; }
add rule inet ${table} out tcp dport ${port} drop
add rule inet ${table} out tcp sport ${port} drop
`)
  const end = async () => {
    nft.stdin.end()
    await exited
  }
  onTestFinished(end)
  const isCut = async () =>
    (await run('nft', ['list', 'table', 'inet', table])).stdout.includes(`sport ${port} drop`)
  await until(
    () => isCut().catch(() => false),
    SOON_MS,
    () => 'nft has not taken the rules',
  )
  return { end }
}
