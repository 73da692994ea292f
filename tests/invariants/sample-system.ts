import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH, type Order, type OrderRequest } from '@shopwire/contract'
import { Journal } from '@shopwire/test-kit/invariants'
import { type Key, newNonce, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { newLinks, type System, startSystem, superuserUrl } from '@shopwire/test-kit/systems'

const DATABASE = 'shopwire'
const BALANCE_CENTS = 2_000
const DELIVERED_MS_MAX = 30_000
const LOOK_EVERY_MS = 100

export const FROM_POOL = '100000000000000001'
export const BY_HAND = '100000000000000002'

export type SampleSystem = Awaited<ReturnType<typeof startSampleSystem>>

/**
 * A system in which everything has happened once: an order delivered, one cancelled, one that has a part of its links, a
 * repeated purchase, refusals, a key revoked. Made by the real programs and over HTTP; only the database is left running.
 */
export async function startSampleSystem() {
  const system = await startSystem({ admission: 'postgres' })
  try {
    const [api] = system.apis
    if (!api) throw new Error('the system has no API process')
    const worker = await system.startWorker()
    await system.importItems(
      [FROM_POOL, BY_HAND].map((id, n) => ({
        id,
        name: `Thing ${n}`,
        type: 'decoration',
        collection: 'Proof',
        price_cents: 100 + 150 * n,
      })),
    )
    await system.loadPool(FROM_POOL, newLinks(8))
    const open = () => system.createAccount({ balanceCents: BALANCE_CENTS })
    const buyers = [await open(), await open()] as const
    const journal = new Journal()
    await trade(system, callerOf(api.url, journal), journal, buyers)
    await Promise.all([api.kill('SIGKILL'), worker.kill('SIGKILL')])
    return {
      journal,
      operatorSettings: system.settingsOf('operator'),
      /** Of this or another database on the same server, with all rights. */
      urlOf: (database = DATABASE) => superuserUrl(system.postgres, database),
      stop: system.stop,
    }
  } catch (error) {
    await system.stop()
    throw error
  }
}

interface Buyer {
  readonly account_id: string
  readonly key: Key
}

type Caller = <Body>(buyer: Buyer, method: string, path: string, order?: OrderRequest) => Promise<Body>

async function trade(
  { admin, createKey }: System,
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

  const writer = { ...first, key: await createKey(first.account_id, 'orders:write') }
  await call(writer, 'POST', `${BASE_PATH}/orders`, again.request)
  await admin('keys', 'revoke', writer.key.id)
  journal.revoked(writer.key.id)
  await buy(writer, [{ id: FROM_POOL }]).place()
  await balance(first)
  await balance(second)
}

/** Signs, sends and records in the journal; a refusal is an answer like any other. */
function callerOf(url: string, journal: Journal): Caller {
  return async <Body>(
    { account_id, key }: Buyer,
    method: string,
    path: string,
    order?: OrderRequest,
  ): Promise<Body> => {
    const body = order && JSON.stringify(order)
    const nonce = newNonce()
    const headers = signedHeaders(key, method, path, body, { nonce })
    const sent = journal.sent({ account_id, key_id: key.id, method, path, nonce, ...(order && { order }) })
    const response = await fetch(url + path, { method, headers, ...(body && { body }) })
    const answer = (await response.json()) as Body
    sent.answered({
      status: response.status,
      body: answer,
      replayed: response.headers.get('idempotent-replayed') === 'true',
    })
    return answer
  }
}
