import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import {
  type Certificate,
  createAuthority,
  isInPublicNetwork,
  type Postgres,
  PUBLIC_ADDRESSES,
  provisionDatabase,
  type Redis,
  startPostgres,
  startRedis,
} from '@shopwire/engines'
import pg from 'pg'
import { endAll, type Server, temporaryFolder } from '../bench/children.ts'
import { COMPILE_CACHE, runAdmin, startProgram } from '../bench/programs.ts'
import { startReceiver } from './receiver.ts'
import { type Key, type Operator, type Scope, type Shop, scopes } from './shop.ts'

export const stores = ['postgres', 'redis'] as const
export type Store = (typeof stores)[number]

const BUYERS = 18
/** Commands under way at a time; each is a process of its own. */
const COMMANDS_AT_ONCE = 4
const APIS = 2
/** A command is at work for a moment on a machine that may be busy; the processes keep the default. */
const PATIENT_MS = '5000'
const LINKS = 400
const OPENING_DOLLARS = '20000.00'
/** Where the rig puts a public address of this machine. */
const RECEIVER = { host: PUBLIC_ADDRESSES[0], port: 8443 }

export interface PrivateOptions {
  readonly buyers?: number
}

export interface PrivateService {
  /** On that store; those of another store are ended first. The address ends in /v1. */
  on(store: Store): Promise<{ url: string; shop: Shop }>
  /** Certificate and key of the receiver, for whoever stands in front of it, and who vouches for them. */
  readonly certificate: (Certificate & { readonly ca: string }) | undefined
  /** All buyers. */
  readonly keys: readonly Key[]
  stop(): Promise<void>
}

/**
 * A whole installation with a stocked shop, made by the programs an operator uses. Settings are those of a fresh
 * installation: the limits that are checked are the real ones.
 */
export async function startPrivateService({ buyers = BUYERS }: PrivateOptions = {}): Promise<PrivateService> {
  const folder = temporaryFolder()
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const { ownerUrl, appUrl } = await provisionDatabase(postgres, 'shopwire')
  // Without a public address that is this machine there is nowhere to send events to.
  const authority = isInPublicNetwork() ? await createAuthority() : undefined
  const certificate = authority && {
    ...(await authority.issue(`IP:${RECEIVER.host}`)),
    ca: readFileSync(authority.file, 'utf8'),
  }
  const env: Record<string, string> = {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_DATABASE_OWNER_URL: ownerUrl,
    SHOPWIRE_ENCRYPTION_KEYS: `conformance:${randomBytes(32).toString('base64')}`,
    SHOPWIRE_REDIS_URLS: redis.url,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...(authority && { NODE_EXTRA_CA_CERTS: authority.file }),
  }
  const log = openSync(`${folder}/service.log`, 'a')
  const admin = adminOf(env)
  await admin('migrate')
  await stockShelves(admin, folder)
  const people = await openAccounts(admin, buyers)
  await startProgram('worker', env, log)
  const receiver =
    certificate &&
    (await startReceiver({ ...RECEIVER, ...certificate, url: `https://${RECEIVER.host}:${RECEIVER.port}` }))
  let running: { store: Store; at: Promise<{ url: string; shop: Shop }> } | undefined
  let apis: Server[] = []
  const begin = async (store: Store) => {
    // One store at a time: a revocation is refused as unheard while processes ask another memory than the command's.
    await Promise.all(apis.map((api) => api.kill()))
    await asSuperuser(postgres, 'delete from admission_in_use')
    const settings = { ...env, SHOPWIRE_ADMISSION: store }
    apis = await Promise.all(Array.from({ length: APIS }, () => startProgram('api', settings, log)))
    const ports = apis.map(({ port }) => port)
    const url = `http://127.0.0.1:${await shareOut(ports)}/v1`
    await ageMemory(store, postgres, redis)
    // Who ends a key tells the memory that the processes ask, so the operator has their settings.
    return {
      url,
      shop: {
        ...people,
        operator: operatorOf(adminOf({ ...settings, SHOPWIRE_REDIS_TIMEOUT_MS: PATIENT_MS })),
        ...(receiver && { receiver }),
      },
    }
  }
  return {
    certificate,
    keys: people.buyers,
    on(store) {
      if (running?.store !== store) running = { store, at: begin(store) }
      return running.at
    },
    async stop() {
      await receiver?.close()
      endAll()
      await Promise.all([postgres.stop(), redis.stop(), authority?.remove()])
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each command prints an object of its own
type Admin = (...args: string[]) => Promise<any>

function adminOf(env: Record<string, string>): Admin {
  let underWay = 0
  const waiting: (() => void)[] = []
  return async (...args) => {
    while (underWay >= COMMANDS_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
    underWay += 1
    try {
      return await runAdmin(env, ...args)
    } finally {
      underWay -= 1
      waiting.shift()?.()
    }
  }
}

async function stockShelves(admin: Admin, folder: string): Promise<void> {
  const id = (n: number) => `7${String(n).padStart(18, '0')}`
  const item = (n: number, name: string, type: string, price_cents: number, more: object = {}) => ({
    id: id(n),
    name,
    type,
    collection: n % 2 === 0 ? 'Winter Lights' : 'Basics',
    price_cents,
    ...more,
  })
  const image = (name: string) => ({ image: `https://cdn.example.com/${name}.png` })
  const items = [
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
  writeFileSync(`${folder}/items.json`, JSON.stringify(items))
  const links = Array.from(
    { length: LINKS },
    () => `https://gift.example/${randomBytes(12).toString('hex')}\n`,
  )
  writeFileSync(`${folder}/links.txt`, links.join(''))
  await admin('catalogue', 'import', `${folder}/items.json`, '--yes')
  await admin('pool', 'load', id(8), `${folder}/links.txt`)
}

async function openAccounts(admin: Admin, count: number) {
  const open = async (name: string, dollars: string) => {
    const { id } = await admin('accounts', 'create', name)
    if (dollars !== '') await admin('accounts', 'fund', id, dollars, '--reference', `opening-${id}`)
    return id as string
  }
  const key = (account: string, list: string) => newKey(admin, account, list)
  const each = async (account: string, listOf: (scope: Scope) => string) =>
    Object.fromEntries(
      await Promise.all(scopes.map(async (scope) => [scope, await key(account, listOf(scope))])),
    ) as Record<Scope, Key>
  const [buyers, shared, poor, suspended, revoked] = await Promise.all([
    Promise.all(
      Array.from({ length: count }, async (_, n) => key(await open(`Buyer ${n}`, OPENING_DOLLARS), 'all')),
    ),
    open('Many keys', OPENING_DOLLARS).then(async (account) => ({
      only: await each(account, (scope) => scope),
      without: await each(account, (scope) => scopes.filter((other) => other !== scope).join(',')),
    })),
    open('Poor', '').then((account) => key(account, 'all')),
    open('Suspended', OPENING_DOLLARS).then(async (account) => {
      const made = await key(account, 'all')
      await admin('accounts', 'suspend', account, '--reason', 'conformance')
      return made
    }),
    open('Revoked', '').then(async (account) => {
      const made = await key(account, 'all')
      await admin('keys', 'revoke', made.id)
      return made
    }),
  ])
  const stocked = await admin('catalogue', 'show', '7000000000000000008')
  return { buyers, ...shared, poor, suspended, revoked, items: { stocked: stocked.item ?? stocked } }
}

async function newKey(admin: Admin, account: string, list: string): Promise<Key> {
  const { key, secret } = await admin('keys', 'create', account, '--name', 'conformance', '--scopes', list)
  return { id: key.id, secret, account }
}

function operatorOf(admin: Admin): Operator {
  const dollars = (cents: number) => (cents / 100).toFixed(2)
  return {
    closeStore: () => admin('store', 'close', '--reason', 'conformance'),
    openStore: () => admin('store', 'open'),
    newKey: (account, list) => newKey(admin, account, list),
    revoke: ({ id }) => admin('keys', 'revoke', id),
    cancel: (id) => admin('orders', 'cancel', id, '--reason', 'conformance'),
    setPrice: (id, cents) => admin('catalogue', 'set', id, '--price', dollars(cents)),
    rotateWebhookSecret: async (account) => (await admin('webhooks', 'rotate-secret', account)).secret,
    suspend: (account) => admin('accounts', 'suspend', account, '--reason', 'conformance'),
    resume: (account) => admin('accounts', 'resume', account),
    fund: (account, cents) =>
      admin('accounts', 'fund', account, dollars(cents), '--reference', randomBytes(6).toString('hex')),
  }
}

/** One port in front of several processes, connection by connection; the bytes are left alone. */
async function shareOut(ports: readonly number[]): Promise<number> {
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

/**
 * A memory of nonces that has just begun refuses what was signed before it began, for two minutes. A service lives most of
 * its life later than that, and nobody wants to wait: its beginning is dated back.
 */
async function ageMemory(store: Store, postgres: Postgres, redis: Redis): Promise<void> {
  if (store === 'redis') {
    await redis.command('EVAL', AGE_LUA, '0')
    return
  }
  await asSuperuser(postgres, 'update admission_memory set lost_at = 0')
}

async function asSuperuser(postgres: Postgres, statement: string): Promise<void> {
  const client = new pg.Client(postgres.superuserUrl.replace(/[^/]*$/, 'shopwire'))
  await client.connect()
  await client.query(statement)
  await client.end()
}

const AGE_LUA = `
for _, key in ipairs(redis.call('KEYS', 'shopwire:memory:*')) do
  redis.call('HSET', key, 'lost_at', '1')
end
return 1`
