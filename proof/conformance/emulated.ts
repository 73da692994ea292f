import { Accounts } from './accounts.ts'
import { findItems } from './check.ts'
import { Unmet } from './expect.ts'
import { type ReceiverOptions, startReceiver } from './receiver.ts'
import { type Key, type Operator, type Scope, type Shop, scopes } from './shop.ts'
import { type Base, baseOf, Tools } from './tools.ts'

/** Made in a moment; with fewer of them checks wait for the windows of those. */
const BUYERS = 40
const BALANCE_CENTS = 2_000_000
/** Longer than a run takes. */
const WAITING_MS = 600_000
const RECEIVER: ReceiverOptions = { host: '127.0.0.1', port: 0, url: 'http://localhost' }

/** What an emulator does otherwise on purpose: it delivers to the machine and the network it is in, by http:// too. */
export const EMULATOR_DIFFERS: ReadonlySet<string> = new Set(
  'localhost loopback loopback-number loopback-hex loopback-6 mapped ten 172 192 shared link-local unique-local zero one-label'
    .split(' ')
    .map((slug) => `webhook-configuration/refuses-url-${slug}`),
)

/** A shop in an emulator that runs already, furnished through its control; its own account is left alone. */
export async function furnishEmulator(origin: string): Promise<Shop> {
  const control = controlOf(origin)
  const open = async (balance_cents = BALANCE_CENTS): Promise<Key> => {
    const { account_id, key } = await control('POST', '/accounts', { name: 'Conformance', balance_cents })
    return { ...key, account: account_id }
  }
  const newKey = async (account: string, list: readonly string[]): Promise<Key> => {
    const { key } = await control('POST', '/keys', { account_id: account, scopes: list })
    return { ...key, account }
  }
  const { account } = await open()
  const each = async (listOf: (scope: Scope) => readonly string[]) =>
    Object.fromEntries(
      await Promise.all(scopes.map(async (scope) => [scope, await newKey(account, listOf(scope))])),
    ) as Record<Scope, Key>
  const shop: Shop = {
    buyers: await Promise.all(Array.from({ length: BUYERS }, () => open())),
    only: await each((scope) => [scope]),
    without: await each((scope) => scopes.filter((other) => other !== scope)),
    poor: await open(0),
    receiver: await startReceiver(RECEIVER),
    operator: operatorOf(control, newKey),
  }
  const base = baseOf(`${origin}/v1`)
  const items = await findItems(base, shop, new Accounts(shop.buyers))
  if (items.plain) await keepOneWaiting(base, shop, await open(), items.plain.id, control)
  // Everything there is delivered by itself.
  return { ...shop, items: { ...items, ...(items.plain && { stocked: items.plain }) } }
}

/** An emulator delivers at once, and a queue that nobody is in cannot be counted. */
async function keepOneWaiting(base: Base, shop: Shop, key: Key, id: string, control: Control): Promise<void> {
  await control('POST', '/faults', { name: 'slow_fulfilment', ms: WAITING_MS, account_id: key.account })
  const tools = new Tools({ base, shop, accounts: new Accounts([key]), scenes: new Map() })
  ;(await tools.order(key, [{ id }])).is(201)
  await tools.end()
}

// biome-ignore lint/suspicious/noExplicitAny: each path answers with an object of its own
type Control = (method: string, path: string, body?: object) => Promise<any>

function controlOf(origin: string): Control {
  return async (method, path, body) => {
    const response = await fetch(`${origin}/_emulator${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(`${method} /_emulator${path}: ${JSON.stringify(answer)}`)
    return answer
  }
}

function operatorOf(
  control: Control,
  newKey: (account: string, scopes: readonly string[]) => Promise<Key>,
): Operator {
  const never = async () => {
    throw new Unmet('a hand that an emulator does not have')
  }
  return {
    closeStore: () => control('POST', '/faults', { name: 'store_closed' }),
    openStore: () => control('DELETE', '/faults/store_closed'),
    newKey: (account, list) => newKey(account, list === 'all' ? scopes : list.split(',')),
    setPrice: (id, price_cents) => control('POST', `/items/${id}`, { price_cents }),
    async fund(account_id, cents) {
      const { balance_cents } = await control('GET', `/ledger?account_id=${account_id}`)
      await control('POST', '/balance', { account_id, balance_cents: balance_cents + cents })
    },
    revoke: never,
    cancel: never,
    rotateWebhookSecret: never,
    suspend: never,
    resume: never,
  }
}
