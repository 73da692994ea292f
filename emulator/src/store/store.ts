import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Api,
  type Config,
  createApi,
  createLog,
  createMetrics,
  createOperator,
  createWorker,
  type Db,
  DEVELOPMENT_ENCRYPTION_KEY,
  type Keyring,
  loadConfig,
  type Operator,
  openDatabaseFrom,
  openKeyringFrom,
  type ServeRequest,
  sql,
  VERSION,
} from '@shopwire/service/embedded'
import type { ProvisionedDatabase } from '@shopwire/test-kit/servers'
import { selectOrders } from '../database/queries.ts'
import { ACCOUNT_ID, CELL, KEY, seed } from '../database/seed.ts'
import { createLines } from '../deliveries/deliveries.ts'
import { checkUrl, looseRoutes } from '../deliveries/webhook-urls.ts'
import { createFaults, type Faults } from '../faults/faults.ts'
import { createPauses } from '../faults/pauses.ts'
import { createExchanges, type ExchangeDeps } from '../requests/exchanges.ts'
import { createInterference, interferingAdmission } from '../requests/interference.ts'
import { type Keys, openKeys } from '../requests/keys.ts'
import { endlessSupply, interferingFulfilment } from './fulfilment.ts'
import { createJournal, type Journal } from './journal.ts'
import { createStoreState } from './store-state.ts'
import { createTime, type Time } from './time.ts'

export interface StoreOptions {
  readonly database: ProvisionedDatabase
  readonly host: string
  readonly port: number
  readonly balanceCents: number
  readonly fulfilAfterMs: number
  readonly requestsPerMinute: number
  readonly ordersPerMinute: number
  readonly logLevel: string
  /** Handles requests first; those it does not handle go to the store. */
  intercept(serve: ServeRequest): ServeRequest
}

/** The store in this process: the service's API and worker with fault injection. */
export interface Store {
  /** With the login of operators, for what the control interface reads and does. */
  readonly db: Db
  readonly keyring: Keyring
  readonly operator: Operator
  readonly journal: Journal
  readonly faults: Faults
  readonly keys: Keys
  readonly time: Time
  /** Resolves when the store is open or closed as the faults require. */
  settled(): Promise<void>
  tellOrder(order_id: string): Promise<void>
  listen(): Promise<number>
  stop(): Promise<void>
}

type Log = ReturnType<typeof createLog>

const SHUTDOWN_MS = 4_000
/** Each part has connections of its own, with its login. Together they are fewer than database/database.ts allows. */
const CONNECTIONS = { api: 20, worker: 20, operator: 6, owner: 2 }

export async function openStore(options: StoreOptions): Promise<Store> {
  const config = configOf(options)
  // Standard output is for the ready line.
  const log = createLog(config.SHOPWIRE_LOG_LEVEL, { write: (line) => void process.stderr.write(line) })
  const metrics = createMetrics(VERSION)
  const databases = connect(config, options.database, log)
  const { operator: db, owner } = databases
  const keyring = openKeyringFrom(config)
  const journal = createJournal()
  const pauses = createPauses()
  const faults: Faults = createFaults(() => {
    journal.add('faults', { faults: faults.list() })
    // The control request that armed a fault awaits this and reports its failure; here it is not awaited.
    state.sync().catch(() => {})
  })
  let api: Api | undefined
  const operator = openOperator(db, keyring, () => api as Api)
  const time = createTime(owner, () => operator)
  const state = createStoreState(operator, () => faults.isArmedForAll('store_closed'))
  await seed({ db, owner, keyring, operator }, options.balanceCents)
  await state.sync()
  const keys = await openKeys(db, keyring)
  keys.add(ACCOUNT_ID, KEY)

  const tellOrder = async (id: string) => {
    const [order] = await selectOrders(db, { id })
    if (order) journal.add('order', order)
  }
  const exchanges = createExchanges({ journal, faults, keys, onAnswer: watchOrders(faults, tellOrder) })
  const limits = { requestsMax: options.requestsPerMinute, ordersMax: options.ordersPerMinute }
  api = await createApi(
    config,
    { log, metrics, db: databases.api },
    {
      routes: looseRoutes,
      checkUrl,
      interference: createInterference({ db, exchanges, faults, pauses, operator: () => operator }),
      admission: (real) => interferingAdmission(real, exchanges, limits),
      around: (serve) => options.intercept(exchanges.around(serve)),
    },
  )
  const worker = createWorker(
    config,
    { log, metrics, db: databases.worker },
    {
      openClient: createLines({ journal, faults, pauses }),
      obtain: endlessSupply,
      fulfil: (real) =>
        interferingFulfilment(real, {
          faults,
          afterMs: options.fulfilAfterMs,
          skippedSinceMs: time.skippedSinceMs,
          operator: () => operator,
          onOrder: (_account_id, order_id) => tellOrder(order_id),
        }),
    },
  )
  const open = api
  return {
    db,
    keyring,
    operator,
    journal,
    faults,
    keys,
    time,
    settled: () => state.sync(),
    tellOrder,
    async listen() {
      const atOnce = (_part: string, work: () => Promise<void>) => work()
      await open.open(atOnce)
      await worker.open(atOnce)
      await untilMemoryIsWhole(databases.api)
      return open.listen()
    },
    async stop() {
      pauses.end()
      for (const step of [...open.stops, ...worker.stops]) await step.run()
      await Promise.all(Object.values(databases).map((one) => one.close()))
    },
  }
}

/** A pool of connections for each part of the store, with its login. */
function connect(config: Config, { ownerUrl, processUrls }: ProvisionedDatabase, log: Log) {
  const open = (part: keyof typeof CONNECTIONS): Db => {
    const url = part === 'owner' ? ownerUrl : processUrls[part]
    const own = { SHOPWIRE_DATABASE_URL: url, SHOPWIRE_DATABASE_CONNECTIONS: CONNECTIONS[part] }
    return openDatabaseFrom({ ...config, ...own }, 'shopwire-emulator', log)
  }
  return {
    api: open('api'),
    worker: open('worker'),
    operator: open('operator'),
    /** For what no process of a store does: skipping time, and seeding. */
    owner: open('owner'),
  }
}

function openOperator(db: Db, keyring: Keyring, api: () => Api): Operator {
  return createOperator(
    {
      db,
      keyring,
      clock: { nowMs: () => Date.now() },
      cell: CELL,
      admission: async () => api().admission,
    },
    'emulator',
  )
}

/** Takes notice of the answers to orders: those of a closed store use up its fault, and a new order is recorded. */
function watchOrders(faults: Faults, tellOrder: Store['tellOrder']): ExchangeDeps['onAnswer'] {
  return ({ method, target, status, answer, error_type, account_id }) => {
    if (method !== 'POST' || target !== '/v1/orders') return
    const closed = error_type === 'store_closed' && faults.active('store_closed', account_id ?? undefined)
    // For a single account it was applied where the answer was made.
    if (closed && closed.account_id === undefined) closed.fire()
    // Recorded as a new order; later changes are recorded separately.
    if (status === 201) void tellOrder((JSON.parse(answer) as { id: string }).id).catch(() => {})
  }
}

/**
 * After a restart the service refuses requests for a second or two, so that no nonce is used twice. The emulator
 * waits for that before it is ready.
 */
async function untilMemoryIsWhole(db: Db): Promise<void> {
  const { wait_ms } = await db.one<{ wait_ms: number }>(sql`
    select ceil(greatest(0, lost_at + 1 - extract(epoch from clock_timestamp())) * 1000)::integer as wait_ms
      from admission_memory_check()`)
  await sleep(wait_ms)
}

/** The service's configuration for an emulator. The environment of the process is ignored. */
function configOf(options: StoreOptions): Config {
  return loadConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_CELL: CELL,
    SHOPWIRE_HOST: options.host,
    SHOPWIRE_PORT: String(options.port),
    SHOPWIRE_LOG_LEVEL: options.logLevel,
    SHOPWIRE_DATABASE_URL: options.database.processUrls.api,
    SHOPWIRE_DATABASE_CONNECT_MS: '10000',
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
    SHOPWIRE_REQUESTS_PER_MINUTE: String(options.requestsPerMinute),
    SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: String(options.ordersPerMinute),
    SHOPWIRE_CONNECTIONS_PER_ADDRESS: '0',
    SHOPWIRE_WORKER_ENDPOINTS: '64',
    SHOPWIRE_SHUTDOWN_MS: String(SHUTDOWN_MS),
  })
}
