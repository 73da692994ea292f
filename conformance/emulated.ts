import { Accounts } from './accounts.ts'
import { findItems } from './check.ts'
import { Unmet } from './expect.ts'
import { type Fixtures, type Key, type Operator, type Scope, scopes } from './fixtures.ts'
import { type ReceiverOptions, startReceiver } from './receiver.ts'
import { type Base, baseOf, Tools } from './tools.ts'

/** Quick to make; with fewer accounts the checks wait for the rate limits. */
const BUYERS = 40
const BALANCE_CENTS = 2_000_000
/** Longer than a run takes. */
const WAITING_MS = 600_000
const RECEIVER: ReceiverOptions = { host: '127.0.0.1', port: 0, url: 'http://localhost' }

/** Accounts and keys in an emulator that is running already, made through its control API; its own account is not used. */
export async function furnishEmulator(origin: string): Promise<Fixtures> {
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
  const fixtures: Fixtures = {
    buyers: await Promise.all(Array.from({ length: BUYERS }, () => open())),
    only: await each((scope) => [scope]),
    without: await each((scope) => scopes.filter((other) => other !== scope)),
    poor: await open(0),
    receiver: await startReceiver(RECEIVER),
    operator: operatorOf(control, newKey),
  }
  const base = baseOf(`${origin}/v1`)
  const items = await findItems(base, fixtures, new Accounts(fixtures.buyers))
  if (items.plain) await keepOneWaiting(base, fixtures, await open(), items.plain.id, control)
  // An emulator delivers every item by itself.
  return { ...fixtures, items: { ...items, ...(items.plain && { stocked: items.plain }) } }
}

/** An emulator delivers at once, and the length of an empty queue proves nothing. */
async function keepOneWaiting(
  base: Base,
  fixtures: Fixtures,
  key: Key,
  id: string,
  control: Control,
): Promise<void> {
  await control('POST', '/faults', { name: 'slow_fulfilment', ms: WAITING_MS, account_id: key.account })
  const tools = new Tools({ base, fixtures, accounts: new Accounts([key]), scenes: new Map() })
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
    throw new Unmet('an action of the operator that an emulator does not have')
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
