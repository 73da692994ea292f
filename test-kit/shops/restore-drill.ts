import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { commandsOf, type Machine } from '../pages/runbook.ts'
import { type Buyer, newOrder, unlessLost } from '../people/buyer.ts'
import { type ConnectProxy, startConnectProxy } from '../proxies/connect-proxy.ts'
import { type Supplier, startSupplier } from '../receivers/supplier.ts'
import { connect, exchange } from '../requests/connection.ts'
import { sign } from '../requests/signed-request.ts'
import { changeUrls, freePorts, type Postgres, type ProcessName, until } from '../servers/index.ts'
import {
  capture,
  createOperator,
  limitless,
  loginSettings,
  type Settings,
  type System,
  spawnProgram,
  startApi,
  startSystem,
  type WorkerProcess,
} from '../systems/index.ts'
import { openShop } from './shop.ts'

/** Beside two other test files. */
export const SOON_MS = 120_000
/** A worker asks for jobs ten times a second: it would have taken one up by now. */
const QUIET_MS = 2_000
const BUYERS = 2
/** Every look reads all orders of all customers, and takes the time in which the worker would deliver them. */
const LOOK_EVERY_MS = 500

/** Who has seen a link: `account order`. */
export type Handouts = Map<string, string>

/** A store with a journal, stock, a supplier, customers with webhooks, and a proxy that sees whom it calls. */
export interface DrillStore {
  readonly system: System
  readonly buyers: readonly Buyer[]
  readonly supplier: Supplier
  readonly proxy: ConnectProxy
  readonly worker: WorkerProcess
  readonly pooled: string
  readonly supplied: string
  /** Buys so many in turn for all customers; returns the ids of the orders. */
  buy(count: number, item?: string): Promise<string[]>
  /** Buys until the store is gone; returns the ids of the orders that were confirmed. */
  buyUntilLost(): Promise<string[]>
  /** Waits until all of these are delivered, and reads every link as their callers do. */
  handOut(order_ids: readonly string[]): Promise<Handouts>
  /** Ends everything at once, as a power failure would. */
  die(): Promise<void>
}

export async function openDrillStore(postgres: Postgres, stock: number): Promise<DrillStore> {
  const journal = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
  onTestFinished(() => rm(journal, { recursive: true, force: true }))
  const proxy = await startConnectProxy({
    route: (host, port) => (host === '127.0.0.1' ? { host, port } : '403 Forbidden'),
  })
  onTestFinished(() => proxy.close())
  const supplier = await startSupplier('maker')
  onTestFinished(() => supplier.close())
  const settings = { ...limitless, SHOPWIRE_JOURNAL: journal, SHOPWIRE_EGRESS_PROXY: proxy.url }
  const system = await startSystem({ admission: 'postgres', postgres, settings })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  const [pooled = '', supplied = ''] = await shop.sell(100, 100)
  await shop.stock(pooled, stock)
  const { secret } = await system.admin('suppliers', 'create', 'maker', supplier.url)
  supplier.setSecret(secret)
  await system.admin('supply', 'set', supplied, '--supplier', 'maker')
  const buyers: Buyer[] = []
  for (let n = 0; n < BUYERS; n += 1) buyers.push(await shop.openBuyer(100_000))
  const [port = 0] = system.ports
  for (const { key } of buyers) await setWebhook(port, key)
  const worker = await system.startWorker()
  return {
    system,
    buyers,
    supplier,
    proxy,
    worker,
    pooled,
    supplied,
    buy: (count, item = pooled) => buyInTurn(port, buyers, count, item),
    buyUntilLost: () => buyUntilLost(port, buyers, pooled),
    handOut: (order_ids) => readAll(port, buyers, order_ids),
    async die() {
      const processes = [...system.apis, worker].filter((process) => process.pid() !== undefined)
      await Promise.all(processes.map((process) => process.kill('SIGKILL')))
      await postgres.kill9()
    },
  }
}

/** Until the journal has a position from after this call: a worker writes one before it advances the next. */
export async function untilPositionKept({ query }: Pick<System, 'query'>): Promise<void> {
  const position = async () => Number(await query('select position from store_position'))
  const from = await position()
  await until(
    async () => (await position()) >= from + 2,
    SOON_MS,
    () => 'the worker does not write the position of the store',
  )
}

async function setWebhook(port: number, key: Buyer['key']) {
  const body = JSON.stringify({ url: 'https://93.184.216.34/hook' })
  expect((await exchange(port, sign(key, 'POST', '/v1/webhook', body).bytes)).status).toBe(200)
}

async function buyInTurn(port: number, buyers: readonly Buyer[], count: number, item: string) {
  const ids = await Promise.all(
    buyers.map(async (buyer, n) => {
      const via = await connect(port)
      const own: string[] = []
      for (let bought = n; bought < count; bought += buyers.length) {
        const { status, body } = await buyer.place(via, newOrder({ id: item }))
        expect(status).toBe(201)
        own.push(body.id)
      }
      via.close()
      return own
    }),
  )
  return ids.flat()
}

async function buyUntilLost(port: number, buyers: readonly Buyer[], item: string): Promise<string[]> {
  const ids = await Promise.all(
    buyers.map(async (buyer) => {
      const via = await connect(port)
      const own: string[] = []
      for (;;) {
        const answer = await buyer.place(via, newOrder({ id: item })).catch(unlessLost)
        if (answer === undefined) return own
        if (answer.status === 201) own.push(answer.body.id)
      }
    }),
  )
  return ids.flat()
}

async function readAll(port: number, buyers: readonly Buyer[], wanted: readonly string[]): Promise<Handouts> {
  const handouts: Handouts = new Map()
  const missing = new Set(wanted)
  await until(
    async () => {
      for (const buyer of buyers) {
        const orders = await buyer.listOrders(port)
        for (const { id } of orders.filter(({ id, status }) => missing.has(id) && status === 'delivered')) {
          const { links } = await buyer.readOrder(port, id)
          for (const link of links as string[]) handouts.set(link, `${buyer.account_id} ${id}`)
          missing.delete(id)
        }
      }
      if (missing.size > 0) await sleep(LOOK_EVERY_MS)
      return missing.size === 0
    },
    SOON_MS,
    () => `${missing.size} orders are not delivered`,
  )
  return handouts
}

/** The same store on another server. */
export interface RestoredStore {
  readonly port: number
  readonly worker: Unready
  admin(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>
  buy(count: number, item?: string): Promise<string[]>
  handOut(order_ids: readonly string[]): Promise<Handouts>
}

export async function startRestored(store: DrillStore, machine: Machine): Promise<RestoredStore> {
  const { system, buyers, pooled } = store
  const database = changeUrls(system.database, machine.moved)
  const settingsOf = (process: ProcessName) => ({ ...system.settings, ...loginSettings(database, process) })
  const api = await startApi(settingsOf('api'))
  onTestFinished(() => void (api.pid() !== undefined && api.kill('SIGKILL')))
  const operator = createOperator(() => settingsOf('operator'))
  onTestFinished(() => operator.closeOperator())
  return {
    port: api.port,
    worker: await startUnreadyWorker(settingsOf('worker')),
    admin: operator.runCommand,
    buy: (count, item = pooled) => buyInTurn(api.port, buyers, count, item),
    handOut: (order_ids) => readAll(api.port, buyers, order_ids),
  }
}

/** Reads work; nothing is sold, delivered, sent or bought, however long one waits. */
export async function expectQuarantine(
  store: DrillStore,
  restored: RestoredStore,
  why: RegExp,
  waiting: readonly string[],
) {
  await until(
    async () => why.test((await restored.worker.readyz()).text),
    SOON_MS,
    () => `the worker does not say why it does nothing:\n${restored.worker.logs()}`,
  )
  const before = { asked: store.supplier.asked.length, sent: store.proxy.refused.length }
  await sleep(QUIET_MS)
  expect({ asked: store.supplier.asked.length, sent: store.proxy.refused.length }).toEqual(before)
  expect((await restored.worker.readyz()).status).toBe(503)
  const [buyer] = store.buyers as [Buyer]
  const via = await connect(restored.port)
  expect(await buyer.place(via, newOrder({ id: store.pooled }))).toMatchObject({
    status: 503,
    body: { error: { type: 'store_closed' } },
  })
  via.close()
  const statuses = await Promise.all(
    store.buyers.map(async (one) =>
      (await one.listOrders(restored.port)).filter(({ id }) => waiting.includes(id)),
    ),
  )
  expect(new Set(statuses.flat().map(({ status }) => status))).toEqual(
    new Set(waiting.length > 0 ? ['paid'] : []),
  )
  expect(statuses.flat()).toHaveLength(waiting.length)
}

/** Follows docs/runbooks/restore.md; with `thorough`, also what it says is refused. Returns what the comparison found. */
export async function openRestored(restored: RestoredStore, { thorough = false } = {}) {
  const [status, compare, apply] = (await commandsOf('restore', 'store')) as [string[], string[], string[]]
  const shown = await restored.admin(...status)
  const [, identity = ''] = /recover open --identity (\S+)$/m.exec(shown.stdout) ?? []
  expect(identity, shown.stdout + shown.stderr).not.toBe('')
  if (thorough) {
    const early = await restored.admin('recover', 'open', '--identity', identity)
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('was not compared')])
    expect((await restored.admin(...compare)).stdout).toContain('Nothing was changed')
  }
  const applied = await restored.admin('--json', ...apply)
  expect(applied.stderr).toBe('')
  const opened = await restored.admin('recover', 'open', '--identity', identity)
  expect([opened.code, opened.stderr]).toEqual([0, ''])
  await until(
    async () => (await restored.worker.readyz()).status === 200,
    SOON_MS,
    () => `the worker is not ready:\n${restored.worker.logs()}`,
  )
  return { status: shown.stdout, ...JSON.parse(applied.stdout) }
}

/** Every rule about the data holds. */
export async function expectVerified(restored: RestoredStore) {
  const [verify = []] = await commandsOf('restore', 'opened')
  const { code, stderr } = await restored.admin(...verify)
  expect([code, code === 0 ? '' : stderr]).toEqual([0, ''])
}

/** No link was handed out to two accounts, or for two orders, by the two stores together. */
export function expectHeldOnce(...all: readonly Handouts[]) {
  const holders = new Map<string, Set<string>>()
  for (const handouts of all)
    for (const [link, holder] of handouts) holders.set(link, (holders.get(link) ?? new Set()).add(holder))
  expect([...holders.values()].filter((set) => set.size > 1).map((set) => [...set])).toEqual([])
}

interface Unready {
  logs(): string
  readyz(): Promise<{ status: number; text: string }>
}

/** Others wait until a worker is ready; this one is not meant to be. */
export async function startUnreadyWorker(settings: Settings): Promise<Unready> {
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
