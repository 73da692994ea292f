import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import type { OrderRequest } from '@shopwire/contract'
import type { Buyer } from '@shopwire/test-kit/people/buyer'
import {
  type ReceiverOptions,
  startWebhookReceiver,
  type WebhookReceiver,
} from '@shopwire/test-kit/receivers/webhook-receiver'
import type { Answer } from '@shopwire/test-kit/requests/connection'
import type { Key } from '@shopwire/test-kit/requests/signed-request'
import {
  createAuthority,
  type DnsStub,
  PUBLIC_ADDRESSES,
  startDnsStub,
  until,
} from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  limitless,
  makeDue,
  type System,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { test as base, expect } from 'vitest'

/** Runs in a network where these two are on this machine and names are looked up in the stub. */
export const [HERE, THERE] = PUBLIC_ADDRESSES
/** Some wait for a lease of ten seconds, beside neighbours that use both cores. */
export const SOON_MS = 60_000
const OPENED_AT_ONCE = 4
export const ITEM = '10000000000000001'

/** A shop whose customers have servers on a public internet. All files share one; each ends with `expectAllHolds`. */
export interface Rig {
  readonly system: System
  readonly worker: WorkerProcess
  readonly dns: DnsStub
  readonly inside: Inside
  openAccount(): Promise<Customer>
  /** For tests that need many: those that are there already, wherever their events go, and as many new ones as are missing. */
  anyAccounts(count: number): Promise<Customer[]>
  /** A receiver with a certificate for its name, and the name in the stub. */
  listen(name: string, options?: ListenOptions): Promise<WebhookReceiver>
  /** Every rule of money and delivery, with everything that was sent and received; no internal address was dialled, nothing crashed. */
  expectAllHolds(): Promise<void>
}

/** An account as its own server sees it. */
export interface Customer {
  readonly account_id: string
  readonly key: Key
  /** That events are signed with. */
  secret(): string
  configure(url: string | null): Promise<Answer>
  sendTest(): Promise<Answer>
  order(request: OrderRequest): Promise<Answer>
  // biome-ignore lint/suspicious/noExplicitAny: as in an answer
  health(): Promise<any>
  untilError(error: string): Promise<void>
  untilNothingPending(): Promise<void>
  /** By the command. */
  rotateSecret(): Promise<void>
  /** What waits for its next attempt is due now; what was tried is dated back, so that the promised distance lies between. */
  makeDue(): Promise<void>
}

export interface ListenOptions extends Pick<ReceiverOptions, 'tls'> {
  readonly address?: string
  readonly port?: number
  readonly certificate?: { readonly days?: number; readonly isSelfSigned?: boolean }
}

/** A receiver and the customer whose events go there. */
export interface Subscription extends Customer {
  readonly receiver: WebhookReceiver
}

interface Fixtures {
  /** Like `rig.listen`, until the test ends. */
  listen: Rig['listen']
  /** A receiver of its own at a name of its own, and an account whose events go there; until the test ends. */
  subscribe(name: string, options?: ListenOptions): Promise<Subscription>
}

const withRig = base.extend<{ $worker: { rig: Rig } }>({
  rig: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs; this one, nothing
    async ({}, use) => {
      const { rig, close } = await openRig()
      await use(rig)
      await close()
    },
    { scope: 'worker' },
  ],
})

export const test = withRig.extend<Fixtures>({
  listen: async ({ rig }, use) => {
    const open: WebhookReceiver[] = []
    await use(async (...args) => {
      const receiver = await rig.listen(...args)
      open.push(receiver)
      return receiver
    })
    await Promise.all(open.map((receiver) => receiver.close()))
  },
  subscribe: async ({ rig, listen }, use) => {
    await use(async (name, options) => {
      const [receiver, customer] = await Promise.all([listen(name, options), rig.openAccount()])
      expect((await customer.configure(receiver.url)).status).toBe(200)
      receiver.setSecrets(customer.secret())
      return { ...customer, receiver }
    })
  },
})

async function openRig() {
  const authority = await createAuthority()
  const dns = await startDnsStub()
  const inside = listenInside()
  const settings = { NODE_EXTRA_CA_CERTS: authority.file, ...limitless }
  const system = await startSystem({ admission: 'postgres', settings })
  const shop = openShop(system)
  const worker = await startWorker(system.settingsOf('worker'))
  await stockShelf(system)
  const customers: Customer[] = []
  const rig: Rig = {
    system,
    worker,
    dns,
    inside,
    async openAccount() {
      const account_id = await insertAccount(system)
      const customer = customerOf(system, shop, shop.buyerOf(account_id, await system.createKey(account_id)))
      customers.push(customer)
      return customer
    },
    async anyAccounts(count) {
      // A few at a time: each is a process of its own, and waits for the database with the others.
      while (customers.length < count) {
        const missing = Math.min(OPENED_AT_ONCE, count - customers.length)
        await Promise.all(Array.from({ length: missing }, () => rig.openAccount()))
      }
      return customers.slice(0, count)
    },
    async listen(name, { address = HERE, port = 443, certificate = {}, tls } = {}) {
      dns.set(name, [address])
      const issued = await authority.issue(`DNS:${name}`, certificate)
      const origin = `https://${name}${port === 443 ? '' : `:${port}`}`
      return startWebhookReceiver({
        ...{ host: address, port, origin },
        ...{ journal: shop.journal, tls: { ...issued, ...tls } },
      })
    },
    async expectAllHolds() {
      await shop.expectCleanBooks()
      expect(inside.connections()).toBe(0)
      expect(worker.crash()).toBeUndefined()
    },
  }
  const close = async () => {
    await worker.kill('SIGTERM')
    await system.stop()
    inside.close()
    dns.close()
    await authority.remove()
  }
  return { rig, close }
}

/** Past the command, which takes its time to start: there are many. */
async function insertAccount({ query }: System): Promise<string> {
  const id = `acct_${randomBytes(13).toString('hex')}`
  await query(
    `insert into accounts (id, name, created_at) values ('${id}', 'Rig', now());
     insert into balances (account_id) values ('${id}')`,
  )
  return id
}

async function stockShelf(system: System): Promise<void> {
  await system.query(
    `insert into items (id, name, type, collection, price_cents, is_for_sale, revision)
     values ('${ITEM}', 'Ring', 'decoration', 'Basics', 1, true, 2); update catalogue_state set revision = 2`,
  )
  // The catalogue change is announced now, while there are no endpoints; later its events would arrive between others.
  await until(
    async () =>
      (await system.query('select revision from catalogue_announcement where told_up_to is null')) === '2',
    SOON_MS,
    () => 'the catalogue is not announced',
  )
}

interface Inside {
  connections(): number
  close(): void
}

/** Counts connections to internal addresses; the SSRF guard must keep the count at zero. */
function listenInside(): Inside {
  let connections = 0
  const servers = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1'].map((address) =>
    createServer((socket) => {
      connections += 1
      socket.destroy()
    }).listen(443, address),
  )
  return { connections: () => connections, close: () => void servers.map((server) => server.close()) }
}

/** Has one event sent; how long it took from the call that makes it to its arrival. Nothing else may be on its way. */
export async function timeDelivery({ receiver, sendTest }: Subscription): Promise<number> {
  const before = receiver.arrivals.length
  const sentMs = Date.now()
  await sendTest()
  await until(
    () => receiver.arrivals.length > before,
    SOON_MS,
    () => 'an event to a healthy receiver is held up',
  )
  return (receiver.arrivals[before]?.atMs ?? 0) - sentMs
}

function customerOf(system: System, { journal }: Shop, buyer: Buyer): Customer {
  const { account_id, key } = buyer
  const call = (method: string, path: string, content?: object) =>
    buyer.call(system.ports[0] ?? 0, method, path, content)
  const health = async () => (await call('GET', '/v1/webhook')).body
  const untilHealth = async (isSo: (health: Record<string, unknown>) => boolean, wanted: string) => {
    let last: Record<string, unknown> = {}
    await until(
      async () => {
        last = await health()
        return isSo(last)
      },
      SOON_MS,
      () => `${wanted} does not come: ${JSON.stringify(last)}`,
    )
  }
  let current = ''
  return {
    account_id,
    key,
    health,
    secret: () => current,
    async configure(url) {
      const answer = await call('POST', '/v1/webhook', { url })
      current = answer.body.secret ?? current
      return answer
    },
    sendTest: () => call('POST', '/v1/webhook/test', {}),
    order: (request) => call('POST', '/v1/orders', request),
    untilError: (error) => untilHealth(({ last_error }) => last_error === error, `last_error ${error}`),
    untilNothingPending: () => untilHealth(({ pending }) => pending === 0, 'pending 0'),
    async rotateSecret() {
      const { secret } = await system.admin('webhooks', 'rotate-secret', account_id)
      journal.rotated(account_id, secret)
      current = secret
    },
    makeDue: () => makeDue(system, account_id),
  }
}
