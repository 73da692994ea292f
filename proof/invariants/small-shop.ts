import { randomBytes } from 'node:crypto'
import { openSync, writeFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH, type Order, type OrderRequest, requestHeaders } from '@shopwire/contract'
import { signRequest } from '@shopwire/contract/signing'
import { provisionDatabase, startPostgres } from '@shopwire/engines'
import { endAll, temporaryFolder } from '../bench/children.ts'
import { COMPILE_CACHE, runAdmin, startProgram } from '../bench/programs.ts'
import { Journal } from './journal.ts'

const DATABASE = 'shopwire'
const DELIVERED_MS_MAX = 30_000
const LOOK_EVERY_MS = 100

export const FROM_POOL = '100000000000000001'
export const BY_HAND = '100000000000000002'

export type SmallShop = Awaited<ReturnType<typeof openSmallShop>>

/**
 * A shop in which everything has happened once: an order delivered, one cancelled, one that has a part of its links, a
 * repeated purchase, refusals, a key revoked. Made by the real programs and over HTTP; only the database is left running.
 */
export async function openSmallShop() {
  const postgres = await startPostgres()
  try {
    const { ownerUrl, appUrl } = await provisionDatabase(postgres, DATABASE)
    const env = {
      SHOPWIRE_ENV: 'development',
      SHOPWIRE_DATABASE_URL: appUrl,
      SHOPWIRE_DATABASE_OWNER_URL: ownerUrl,
      SHOPWIRE_ENCRYPTION_KEYS: `proof:${randomBytes(32).toString('base64')}`,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
    }
    const admin: Admin = (...args) => runAdmin(env, ...args)
    await admin('migrate')
    await stockShelves(admin)
    const buyers = [await openBuyer(admin), await openBuyer(admin)] as const
    const journal = new Journal()
    const log = openSync(devNull, 'w')
    const { port } = await startProgram('api', env, log)
    await startProgram('worker', env, log)
    await trade(admin, callerOf(port, journal), journal, buyers)
    return {
      journal,
      env,
      /** Of this or another database on the same server, past all rights. */
      urlOf: (database = DATABASE) => postgres.superuserUrl.replace(/[^/]*$/, database),
      stop: () => postgres.stop(),
    }
  } catch (error) {
    await postgres.stop()
    throw error
  } finally {
    endAll()
  }
}

interface Buyer {
  readonly account_id: string
  readonly key: Key
}

interface Key {
  readonly id: string
  readonly secret: string
}

type Admin = (...args: string[]) => Promise<Record<string, unknown>>
type Caller = <Body>(buyer: Buyer, method: string, path: string, order?: OrderRequest) => Promise<Body>

async function stockShelves(admin: Admin): Promise<void> {
  const folder = temporaryFolder()
  const items = [FROM_POOL, BY_HAND].map((id, n) => ({
    id,
    name: `Thing ${n}`,
    type: 'decoration',
    collection: 'Proof',
    price_cents: 100 + 150 * n,
  }))
  writeFileSync(`${folder}/items.json`, JSON.stringify(items))
  writeFileSync(
    `${folder}/links.txt`,
    Array.from({ length: 8 }, () => `https://gift.example/${randomBytes(12).toString('hex')}\n`).join(''),
  )
  await admin('catalogue', 'import', `${folder}/items.json`, '--yes')
  await admin('pool', 'load', FROM_POOL, `${folder}/links.txt`)
}

async function openBuyer(admin: Admin): Promise<Buyer> {
  const { id: account_id } = (await admin('accounts', 'create', 'Proof')) as { id: string }
  await admin('accounts', 'fund', account_id, '20.00', '--reference', `opening-${account_id}`)
  return { account_id, key: await newKey(admin, account_id, 'all') }
}

async function newKey(admin: Admin, account_id: string, scopes: string): Promise<Key> {
  const made = await admin('keys', 'create', account_id, '--name', 'proof', '--scopes', scopes)
  const { key, secret } = made as { key: { id: string }; secret: string }
  return { id: key.id, secret }
}

async function trade(
  admin: Admin,
  call: Caller,
  journal: Journal,
  [first, second]: readonly [Buyer, Buyer],
): Promise<void> {
  const buy = (buyer: Buyer, items: OrderRequest['items']) => {
    const request = { items, idempotency_key: `proof-${randomBytes(8).toString('hex')}` }
    const place = () => call<Order>(buyer, 'POST', `${BASE_PATH}/orders`, request)
    return { request, place }
  }
  const balance = (buyer: Buyer) => call(buyer, 'GET', `${BASE_PATH}/balance`)
  const untilDelivered = async (buyer: Buyer, id: string) => {
    const deadline = performance.now() + DELIVERED_MS_MAX
    for (;;) {
      const { status } = await call<Order>(buyer, 'GET', `${BASE_PATH}/orders/${id}`)
      if (status === 'delivered') return
      if (performance.now() > deadline) throw new Error(`order ${id} is still ${status}`)
      await sleep(LOOK_EVERY_MS)
    }
  }

  await balance(first)
  const again = buy(first, [{ id: FROM_POOL, qty: 2 }])
  await untilDelivered(first, (await again.place()).id)
  await again.place()
  await untilDelivered(second, (await buy(second, [{ id: FROM_POOL }]).place()).id)
  await buy(first, [{ id: BY_HAND }, { id: FROM_POOL, expected_price_cents: 100 }]).place()
  const given = await buy(second, [{ id: FROM_POOL }, { id: BY_HAND, qty: 2 }]).place()
  await admin('orders', 'cancel', given.id, '--reason', 'proof')
  await buy(second, [{ id: BY_HAND, qty: 10 }]).place()
  await buy(first, [{ id: FROM_POOL, expected_price_cents: 99 }]).place()

  const writer = { ...first, key: await newKey(admin, first.account_id, 'orders:write') }
  await call(writer, 'POST', `${BASE_PATH}/orders`, again.request)
  await admin('keys', 'revoke', writer.key.id)
  journal.revoked(writer.key.id)
  await buy(writer, [{ id: FROM_POOL }]).place()
  await balance(first)
  await balance(second)
}

/** Signs, sends and writes down; a refusal is an answer like any other. */
function callerOf(port: number, journal: Journal): Caller {
  return async <Body>(
    { account_id, key }: Buyer,
    method: string,
    path: string,
    order?: OrderRequest,
  ): Promise<Body> => {
    const body = Buffer.from(order ? JSON.stringify(order) : '')
    const timestamp = String(Math.floor(Date.now() / 1000))
    const nonce = randomBytes(16).toString('hex')
    const headers = {
      [requestHeaders.key]: key.id,
      [requestHeaders.timestamp]: timestamp,
      [requestHeaders.nonce]: nonce,
      [requestHeaders.signature]: signRequest(key.secret, { method, target: path, timestamp, nonce, body }),
    }
    const sent = journal.sent({ account_id, key_id: key.id, method, path, nonce, ...(order && { order }) })
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      ...(order && { body }),
    })
    const answer = (await response.json()) as Body
    sent.answered({
      status: response.status,
      body: answer,
      replayed: response.headers.get('idempotent-replayed') === 'true',
    })
    return answer
  }
}
