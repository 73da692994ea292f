import { type DashboardRoute, dashboardRoutes } from '@shopwire/contract/dashboard'
import { Ajv } from 'ajv'
import { expect } from 'vitest'
import { findArea } from '../src/dashboard/find/find.ts'
import { type HomeSources, homeArea } from '../src/dashboard/home/home.ts'
import { ordersArea } from '../src/dashboard/orders/orders.ts'
import { composeEvent } from '../src/orders/fulfilment/compose-event.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createJobRunner } from '../src/platform/jobs/job-runner.ts'
import type { Letter } from '../src/platform/mail/letter.ts'
import { createLog } from '../src/platform/observability/log.ts'
import type { Sent } from '../src/platform/outbound/guarded-client.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/deliver-queue.ts'
import { memberAct, memberOf } from './member.ts'
import type { Shop, TestKey } from './shop.ts'

const ajv = new Ajv({ strict: false })

/** The areas home, orders and find as the dashboard's role, whose answers are checked against the contract. */
export function openAreas(shop: Shop, sources: Partial<HomeSources> = {}) {
  const { dashboard: db } = shop.database
  const mails: Letter[] = []
  const areas = {
    ...ordersArea({
      db,
      act: memberAct(shop.database),
      vault: shop.vault,
      mailOwners: async (_tx, _member, mail) => void mails.push(mail),
      contact: 'help@shop.example',
    }),
    ...homeArea({
      db,
      installation: { version: '9.8.7', docs_url: null },
      figuresAgeMsMax: 0,
      sources: {
        alertCents: async () => null,
        firstCalls: async () => ({ call_at: null, quote_at: null }),
        attention: async () => [],
        ...sources,
      },
    }),
    ...findArea({ db }),
  }
  type Areas = typeof areas
  type Given = { id?: string; query?: object; body?: object; nowMs?: number }
  /** Calls a route as a person of this account. */
  async function call<Name extends keyof Areas>(account_id: string, name: Name, given: Given = {}) {
    const route = dashboardRoutes.find((one) => one.name === name) as DashboardRoute
    if (route.query) expect([ajv.validate(route.query, given.query ?? {}), ajv.errors]).toEqual([true, null])
    if (route.body) expect([ajv.validate(route.body, given.body), ajv.errors]).toEqual([true, null])
    const handler = areas[name] as (call: unknown) => Promise<unknown>
    const made = { member: memberOf(account_id), id: '', query: {}, nowMs: Date.now(), ...given }
    const reply = await handler(made)
    if (route.reply) expect([ajv.validate(route.reply, reply), ajv.errors]).toEqual([true, null])
    return reply as Awaited<ReturnType<Areas[Name]>>
  }
  return { call, mails }
}

/** Everything that a download consists of. */
export async function textOf(content: string | Buffer | AsyncIterable<string | Buffer>): Promise<string> {
  if (typeof content === 'string' || Buffer.isBuffer(content)) return String(content)
  let text = ''
  for await (const part of content) text += String(part)
  return text
}

/** Delivers events to a receiver that answers as told. */
export function startDeliveries({ database: { worker }, keyring, vault }: Shop, answer: () => Sent) {
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const runner = createJobRunner(worker, {
    queue: DELIVER_QUEUE,
    subjectName: 'endpoint_id',
    concurrency: 4,
    failingMax: 2,
    log,
    metrics,
    work: createDelivery({
      db: worker,
      keyring,
      clock: systemClock,
      openClient: () => ({ post: async () => answer(), close: async () => {} }),
      log,
      metrics,
      notify: async () => {},
      compose: (event) => composeEvent(worker, vault, event),
      random: Math.random,
    }),
  })
  runner.start()
  return { stop: () => runner.stop(2_000) }
}

let accounts = 0
/** An account of its own with money and a key. */
export async function openAccount(shop: Shop, cents = 100_000) {
  accounts += 1
  const { id } = await shop.operator.createAccount(`Account ${accounts}`)
  if (cents > 0) await shop.operator.fundAccount(id, { amount_cents: cents, reference: `open-${id}` })
  return { account_id: id, key: await shop.makeKey(undefined, id) }
}

let purchases = 0
function freshKey(): string {
  purchases += 1
  return `purchase-${purchases}`
}

/** Buys over the API. Without a key of its own, each call is another purchase. */
export async function buy(
  shop: Shop,
  key: TestKey,
  items: readonly { id: string; qty?: number }[],
  idempotency_key = freshKey(),
) {
  const body = JSON.stringify({ items, idempotency_key })
  const answer = await shop.call('POST', '/v1/orders', { body, key })
  return { ...answer, idempotency_key, request_id: answer.headers.get('x-request-id') as string }
}

/** Waits until the worker has delivered the order; returns it as the API shows it. */
export async function delivered(shop: Shop, key: TestKey, order_id: string) {
  const read = () => shop.call('GET', `/v1/orders/${order_id}`, { key })
  await expect.poll(async () => (await read()).body.status, { timeout: 10_000 }).toBe('delivered')
  return (await read()).body
}
