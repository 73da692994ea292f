import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import {
  type Console,
  expectPage,
  openConsole,
  playPage,
  type Step,
} from '@shopwire/test-kit/pages/console-page'
import { type PublicReceiver, startPublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import {
  openSession,
  ownerSettings,
  START_MS_MAX,
  type System,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

/**
 * docs/disputes.md answers two claims with `shopwire-admin` alone. Here what the caller claims really happens, then the page's
 * commands are run, and the page must say what they print, ids and times aside. SHOPWIRE_WRITE_DOCS=1 writes it anew.
 */
const PAGE = fileURLToPath(new URL('../../docs/disputes.md', import.meta.url))
const RING = '1144058340327047001'
const SOON_MS = 20_000

const FILES = {
  'catalogue.csv': [
    'id,name,type,collection,price_cents',
    `${RING},Aurora Ring,decoration,Northern Lights,499`,
  ],
  'ring-links.txt': [1, 2, 3, 4].map((n) => `https://gift.example/ring-${n}`),
}

const STEPS: readonly Step[] = [
  `# Answer a dispute

The commands change nothing and never show a link. \`--json\` has times to the millisecond and whole hashes.

In the example, a caller lost the answer to a purchase and sent the same request again. Later it sent another cart
under the same key, and then the first cart under a new key.

## "You charged me twice"

Ask for the idempotency key of the purchase, or for the id of the order:`,
  { $: 'shopwire-admin orders prove purchase-1042', name: 'order', find: /(ord_\w+)/ },
  `The last lines are the answer to send. \`REQUEST\` is the \`X-Request-Id\` of the answer, also in the log of the API.
\`other\` marks a cart that is not the one that was bought; the order of lines does not matter.

The caller still sees two debits of $4.99. The statement says which orders they paid for:`,
  { $: 'shopwire-admin accounts statement {account} --limit 2', name: 'second', find: /-\$4\.99.*(ord_\w+)/ },
  { $: 'shopwire-admin orders prove {second}' },
  `That is the second charge: the same cart, sent by the caller's own API key under a new idempotency key, which is a new
purchase. Whether you take one back [is for you to decide](runbooks/money.md#a-claim-of-a-double-charge).

A key is unique in its account only, and without \`--account\` all are searched, which takes a while among millions of
orders. Exit codes: 0 when the key bought once or never, 4 when nothing is known of it, 5 when an account has to be
named, 6 when orders and debits do not fit together ([what to do](invariants.md#when-a-rule-is-violated)).

## "I never received the link"`,
  { $: 'shopwire-admin orders show {order}', name: 'event', find: /(evt_\w+) +order\.delivered/ },
  `Here the caller's own key got the link after the delivery (an operator who looked with \`--reveal-links\` is listed as
well), and its receiver refused the event that carries the link, with 503. To send that again, with the same id and
bytes:`,
  { $: 'shopwire-admin webhooks resend {account} {event}' },
  { $: 'shopwire-admin webhooks attempts {account} {event}', until: /\b200\b/ },
  `If no answer with the links is recorded and no event was accepted, the caller very probably does not have them. Give it
the order id for \`GET /orders/{id}\`.

## What is recorded, and how certain it is

| What | When it is written | Kept |
|---|---|---|
| the request that bought, its API key and address | in the commit of the order; it cannot be missing | as long as the order |
| order, debit, refund | in one commit each | for good |
| attempts with an idempotency key, and what each was answered | within a second after the answer | \`SHOPWIRE_EVIDENCE_RETENTION_DAYS\` |
| answers that carried links | within a second after the answer | \`SHOPWIRE_EVIDENCE_RETENTION_DAYS\` |
| events and attempts to deliver them | when they happen | \`SHOPWIRE_EVENT_RETENTION_DAYS\` |
| the links themselves | when they are obtained, encrypted | \`SHOPWIRE_LINK_RETENTION_DAYS\` after the delivery; their fingerprints for good |
| what operators did | in the commit of the action | for good |

- A killed API process loses at most its last second of records, counted by \`shopwire_evidence_lost_total\`. An attempt
  that bought is listed in any case, then with \`answer not recorded\`.
- \`caller was gone before the answer\`: the connection was closed before the whole answer was handed to the network.
  Otherwise it was handed over, which does not prove that it arrived.
- A request that is refused before its body is known to be valid (400, 401, 403, 408, 413, 429) leaves no attempt; it
  is in the log of the API.
- \`GET /orders/{id}\` and a replayed \`POST /orders\` of a key with \`orders:read\` carry links; \`GET /orders\` does not.
- Behind proxies the address is right with \`SHOPWIRE_TRUSTED_PROXY_HOPS\`. Of an IPv6 address the network (/64) is kept.
- The application cannot change any of it, nor remove the last 30 days
  ([decision 0021](decisions/0021-evidence-and-seals.md)).`,
]

let system: System
let worker: WorkerProcess | undefined
let shell: Console
let receiver: PublicReceiver
let account_id: string
let key: Key

beforeAll(async () => {
  receiver = await startPublicReceiver()
  system = await startSystem({ admission: 'postgres', settings: receiver.settings })
  shell = await openConsole({ ...system.settingsOf('operator'), ...ownerSettings(system.database) }, FILES)
  await shell.run('shopwire-admin catalogue import catalogue.csv --yes')
  await shell.run(`shopwire-admin pool load ${RING} ring-links.txt`)
  account_id = (await system.admin('accounts', 'create', 'Acme Bots')).id
  await system.admin('accounts', 'fund', account_id, '50.00', '--reference', 'wire-2026-118')
  const made = await system.admin('keys', 'create', account_id, '--name', 'production', '--scopes', 'all')
  key = { id: made.key.id, secret: made.secret }
}, START_MS_MAX)
afterAll(async () => {
  await worker?.kill('SIGTERM')
  await shell?.close()
  await system?.stop()
  await receiver?.close()
})

test('a double charge and a missing link are answered with the commands of docs/disputes.md', async () => {
  expect((await send('POST', '/v1/webhook', { url: receiver.url })).status).toBe(200)

  // The answer to the first attempt is lost, the retry is answered; another cart is refused; a new key buys again.
  const cart = { items: [{ id: RING }], idempotency_key: 'purchase-1042' }
  await sendAndHangUp(cart)
  const { status, body: order } = await send('POST', '/v1/orders', cart)
  expect(status).toBe(200)
  const otherCart = { ...cart, items: [{ id: RING, qty: 2 }] }
  expect((await send('POST', '/v1/orders', otherCart)).status).toBe(409)
  const again = { ...cart, idempotency_key: 'purchase-1042-again' }
  expect((await send('POST', '/v1/orders', again)).status).toBe(201)

  // Both orders are delivered; the receiver refuses an event of the first one, once. The caller reads its link.
  const refused = new Set([order.id])
  receiver.answers(({ arrival: { event, data }, response }) =>
    response.writeHead(event === 'order.delivered' && refused.delete(data.order.id) ? 503 : 200).end(),
  )
  worker = await startWorker(system.settingsOf('worker'))
  await untilCounted(`deliveries d join attempts_made a using (account_id, event_id, endpoint_id)`, 4)
  const read = await send('GET', `/v1/orders/${order.id}`)
  expect(read.body.links).toHaveLength(1)
  await untilCounted('order_answers', 2)
  await untilCounted('order_attempts', 2)
  await untilCounted('link_reads', 1)

  const page = await playPage(shell, STEPS, { names: { account: account_id } })
  for (const sure of [
    'Bought once: 3 attempts, one order, one debit of $4.99.',
    'The caller closed the connection before it had the answer to the attempt that bought.',
    'Bought once: one attempt, one order, one debit of $4.99.',
    'failed: http_503',
  ])
    expect(page).toContain(sure)
  expect(page).not.toContain('gift.example')
  await expectPage(PAGE, page)
})

async function send(method: string, target: string, body?: object) {
  const request = sign(key, method, target, body && JSON.stringify(body))
  return exchange(system.ports[0] as number, request.bytes)
}

/** The order is bought while the caller is still connected, and answered when it is gone. */
async function sendAndHangUp(order: object): Promise<void> {
  const session = await openSession(system.superuserUrl)
  await session.run(`begin; select from balances where account_id = '${account_id}' for update;`)
  const socket = connect(system.ports[0] as number, '127.0.0.1')
  socket.write(sign(key, 'POST', '/v1/orders', JSON.stringify(order)).bytes)
  await untilCounted(
    `pg_stat_activity where application_name = 'shopwire-api' and wait_event_type = 'Lock'`,
    1,
  )
  socket.resetAndDestroy()
  await once(socket, 'close')
  await session.run('commit;')
  await session.end()
  await untilCounted('orders', 1)
}

async function untilCounted(from: string, count: number): Promise<void> {
  let found = ''
  await until(
    async () => {
      found = await system.query(`select count(*) from ${from}`)
      return found === String(count)
    },
    SOON_MS,
    () => `${found} of ${from}, not ${count}`,
  )
}
