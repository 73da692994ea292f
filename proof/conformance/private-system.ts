import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type Certificate, createAuthority, isInPublicNetwork, PUBLIC_ADDRESSES } from '@shopwire/engines'
import {
  type ApiProcess,
  ageMemory,
  createOperator,
  dollars,
  newLinks,
  type Operator as StoreOperator,
  startSystem,
} from '@shopwire/harness'
import { type Fixtures, type Key, type Operator, type Scope, scopes } from './fixtures.ts'
import { startReceiver } from './receiver.ts'

export const stores = ['postgres', 'redis'] as const
export type Store = (typeof stores)[number]

const BUYERS = 18
const COMMANDS_AT_ONCE = 4
const APIS = 2
/** For the admin command on a busy machine; the processes keep the default. */
const PATIENT_MS = '5000'
const LINKS = 400
const OPENING_CENTS = 2_000_000
const STOCKED_ITEM = itemId(8)
/** The public network gives this machine that address. */
const RECEIVER = { host: PUBLIC_ADDRESSES[0], port: 8443 }

export interface PrivateOptions {
  readonly buyers?: number
}

export interface PrivateSystem {
  /** With that admission store; API processes with the other one are ended first. The address ends in /v1. */
  on(store: Store): Promise<{ url: string; fixtures: Fixtures }>
  /** Certificate and key of the receiver, for a proxy in front of it, and the authority that issued them. */
  readonly certificate: (Certificate & { readonly ca: string }) | undefined
  /** All buyers. */
  readonly keys: readonly Key[]
  stop(): Promise<void>
}

/** A whole installation with items, links and accounts. It has the default settings: the limits that are checked are the real ones. */
export async function startPrivateSystem({ buyers = BUYERS }: PrivateOptions = {}): Promise<PrivateSystem> {
  // Events go to public addresses only, so without the public network there is nowhere to send them to.
  const authority = isInPublicNetwork() ? await createAuthority() : undefined
  const certificate = authority && {
    ...(await authority.issue(`IP:${RECEIVER.host}`)),
    ca: readFileSync(authority.file, 'utf8'),
  }
  const system = await startSystem({
    admission: 'redis',
    apis: 0,
    settings: authority ? { NODE_EXTRA_CA_CERTS: authority.file } : {},
  })
  const operator = createOperator(
    () => ({ ...system.settings, SHOPWIRE_REDIS_TIMEOUT_MS: PATIENT_MS }),
    COMMANDS_AT_ONCE,
  )
  await operator.importItems(items())
  await operator.loadPool(STOCKED_ITEM, newLinks(LINKS))
  const keys = await openAccounts(operator, buyers)
  await system.startWorker()
  const receiver =
    certificate &&
    (await startReceiver({ ...RECEIVER, ...certificate, url: `https://${RECEIVER.host}:${RECEIVER.port}` }))
  const fixtures = { ...keys, operator: actionsOf(operator), ...(receiver && { receiver }) }
  let running: { store: Store; at: Promise<{ url: string; fixtures: Fixtures }> } | undefined
  let apis: ApiProcess[] = []
  const begin = async (admission: Store) => {
    // One store at a time: a revocation fails while processes use another admission store than the command.
    await Promise.all(apis.map((api) => api.kill('SIGKILL')))
    await system.query('delete from admission_in_use')
    system.settings = { ...system.settings, SHOPWIRE_ADMISSION: admission }
    apis = await Promise.all(Array.from({ length: APIS }, () => system.startApi()))
    await ageMemory(system)
    return { url: `http://127.0.0.1:${await balance(apis.map(({ port }) => port))}/v1`, fixtures }
  }
  return {
    certificate,
    keys: keys.buyers,
    on(wanted) {
      if (running?.store !== wanted) running = { store: wanted, at: begin(wanted) }
      return running.at
    },
    async stop() {
      await receiver?.close()
      await Promise.all([system.stop(), authority?.remove()])
    },
  }
}

function itemId(n: number): string {
  return `7${String(n).padStart(18, '0')}`
}

function items() {
  const item = (n: number, name: string, type: string, price_cents: number, more: object = {}) => ({
    id: itemId(n),
    name,
    type,
    collection: n % 2 === 0 ? 'Winter Lights' : 'Basics',
    price_cents,
    ...more,
  })
  const image = (name: string) => ({ image: `https://cdn.example.com/${name}.png` })
  return [
    item(1, 'Silver Ring', 'decoration', 199, image('ring')),
    item(2, 'Golden Lamp', 'effect', 349, image('lamp')),
    item(3, 'Old Sign', 'nameplate', 100, { for_sale: false }),
    item(4, 'Spring Garland', 'decoration', 150, { available_until: '2024-05-01T00:00:00Z' }),
    item(5, 'Carved Frame', 'frame', 275),
    item(6, 'Whole Collection', 'bundle', 100_000, image('all')),
    item(7, 'Welcome Card', 'nameplate', 0),
    item(8, 'Star in Stock', 'effect', 125, image('star')),
    item(9, '100% Wool_Scarf', 'decoration', 500),
    item(10, 'Étoile 🎁', 'effect', 410),
    ...Array.from({ length: 30 }, (_, n) => item(100 + n, `Thing ${n}`, 'decoration', 50 + n)),
    // Seventeen and twenty digits: as text they would sort the other way round.
    { ...item(0, 'First of All', 'bundle', 900), id: '90000000000000001' },
    { ...item(0, 'Last of All', 'bundle', 900), id: '10000000000000000001' },
  ]
}

async function openAccounts({ admin, createAccount, createKey }: StoreOperator, count: number) {
  const open = async (name: string, balanceCents: number): Promise<Key> => {
    const { account_id, key } = await createAccount({ name, balanceCents })
    return { ...key, account: account_id }
  }
  const each = async (account: string, listOf: (scope: Scope) => string) =>
    Object.fromEntries(
      await Promise.all(
        scopes.map(async (scope) => [scope, { ...(await createKey(account, listOf(scope))), account }]),
      ),
    ) as Record<Scope, Key>
  const [buyers, shared, poor, suspended, revoked] = await Promise.all([
    Promise.all(Array.from({ length: count }, (_, n) => open(`Buyer ${n}`, OPENING_CENTS))),
    open('Many keys', OPENING_CENTS).then(async ({ account }) => ({
      only: await each(account, (scope) => scope),
      without: await each(account, (scope) => scopes.filter((other) => other !== scope).join(',')),
    })),
    open('Poor', 0),
    open('Suspended', OPENING_CENTS).then(async (key) => {
      await admin('accounts', 'suspend', key.account, '--reason', 'conformance')
      return key
    }),
    open('Revoked', 0).then(async (key) => {
      await admin('keys', 'revoke', key.id)
      return key
    }),
  ])
  const stocked = await admin('catalogue', 'show', STOCKED_ITEM)
  return { buyers, ...shared, poor, suspended, revoked, items: { stocked: stocked.item ?? stocked } }
}

function actionsOf({ admin, createKey, fund }: StoreOperator): Operator {
  return {
    closeStore: () => admin('store', 'close', '--reason', 'conformance'),
    openStore: () => admin('store', 'open'),
    newKey: async (account, list) => ({ ...(await createKey(account, list)), account }),
    revoke: ({ id }) => admin('keys', 'revoke', id),
    cancel: (id) => admin('orders', 'cancel', id, '--reason', 'conformance'),
    setPrice: (id, cents) => admin('catalogue', 'set', id, '--price', dollars(cents)),
    rotateWebhookSecret: async (account) => (await admin('webhooks', 'rotate-secret', account)).secret,
    suspend: (account) => admin('accounts', 'suspend', account, '--reason', 'conformance'),
    resume: (account) => admin('accounts', 'resume', account),
    fund,
  }
}

/** One port in front of several processes, chosen round-robin per connection; the bytes are not changed. */
async function balance(ports: readonly number[]): Promise<number> {
  let turn = 0
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (from) => {
    turn += 1
    const to = connect({
      port: ports[turn % ports.length] ?? 0,
      host: '127.0.0.1',
      allowHalfOpen: true,
      noDelay: true,
    })
    from.pipe(to).pipe(from)
    from.on('error', () => to.destroy()).on('close', () => to.destroy())
    to.on('error', () => from.destroy())
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
