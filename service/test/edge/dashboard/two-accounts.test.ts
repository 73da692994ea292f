import { type DashboardRoute, type DashboardRouteName, dashboardRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { statement } from '../../../src/platform/db.ts'
import { refusalOf, type SignedInBrowser, sendRoute } from '../../../testing/dashboard.ts'
import { openWholeDashboard } from '../../../testing/dashboard-areas.ts'
import { type ForeignThings, type RouteExample, routeExamples } from '../../../testing/dashboard-examples.ts'
import { itemOf, putItems, untilFollowed } from '../../../testing/items.ts'
import { openShop, type Shop } from '../../../testing/shop.ts'
import {
  startDeliveries,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../../testing/webhook-receiver.ts'
import { startWorker } from '../../../testing/worker.ts'

/** The areas as the process mounts them, with an owner of one account who names things of another. */
const table: readonly DashboardRoute[] = dashboardRoutes
const exampleOf = ({ name }: DashboardRoute): RouteExample => routeExamples[name as DashboardRouteName]
const routeNamed = (name: DashboardRouteName) => table.find((route) => route.name === name) as DashboardRoute

const ITEM = '1144058340327047001'
const LINK = 'https://gift.example/claim/of-the-other-account'
const WAIT = { timeout: 15_000 }

let shop: Shop
let receiver: WebhookReceiver
let workers: readonly { stop(): Promise<void> }[]
let dashboard: Awaited<ReturnType<typeof openWholeDashboard>>
let owner: SignedInBrowser
let stranger: SignedInBrowser
let other: ForeignThings

beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000, ordersMax: 1_000 } })
  receiver = await startWebhookReceiver()
  workers = [startWorker(shop), startDeliveries(shop, receiver)]
  await untilFollowed(shop.catalogue, await putItems(shop.db, [itemOf(ITEM)]))
  await shop.operator.loadPool(ITEM, [LINK])
  dashboard = await openWholeDashboard(shop)
  const one = await shop.operator.createAccount('One')
  owner = await dashboard.signIn(one.id, 'owner', { isSteppedUp: true })
  stranger = await dashboard.signIn(shop.account.id, 'owner', { isSteppedUp: true })
  other = await makeThings()
}, 60_000)
afterAll(async () => {
  await dashboard.close()
  for (const worker of workers) await worker.stop()
  await receiver.close()
  await shop.close()
})

/** Does what a person of the other account does in their browser. */
async function asStranger(name: DashboardRouteName, input: Pick<RouteExample, 'query' | 'body' | 'id'> = {}) {
  const answer = await sendRoute(dashboard.port, routeNamed(name), stranger, input)
  expect([name, answer.status, answer.body]).toEqual([name, 200, expect.any(String)])
  return JSON.parse(answer.body)
}

/** One of everything, each made as customers make it. */
async function makeThings(): Promise<ForeignThings> {
  const email = 'only-theirs@example.com'
  await asStranger('setWebhook', { body: { url: receiver.url } })
  const idempotency_key = 'cart-of-the-other-account'
  const body = JSON.stringify({ items: [{ id: ITEM, qty: 1 }], idempotency_key })
  const bought = await shop.call('POST', '/v1/orders', { body })
  expect(bought.status).toBe(201)
  const order_id: string = bought.body.id
  const deliveries = async () => (await asStranger('listDeliveries', { query: { order_id } })).deliveries
  await vi.waitFor(async () => {
    const accepted = (await deliveries()).filter((one: { state: string }) => one.state === 'accepted')
    expect(accepted).toHaveLength(2)
  }, WAIT)
  const [delivery] = await deliveries()
  const { top_up } = await asStranger('startTopUp', { body: { provider: 'bank', amount_cents: 10_000 } })
  const { token } = await asStranger('createToken', exampleOf(routeNamed('createToken')))
  const invitation = await asStranger('invite', { body: { email, role: 'viewer' } })
  const { transfers } = await asStranger('listTransfers')
  const { rows } = await asStranger('listAudit')
  await shop.database.asOwner(`
    insert into passkeys (id, person_id, name, credential_id, public_key, counter, device_type, is_synced, created_at)
    values ('pk_of_the_other', '${stranger.person_id}', 'theirs', 'credential', 'key', 0, 'singleDevice', false, now())`)
  return {
    account_id: shop.account.id,
    person_id: stranger.person_id,
    session_id: stranger.session_id,
    passkey_id: 'pk_of_the_other',
    key_id: shop.key.id,
    order_id,
    idempotency_key,
    request_id: bought.headers.get('x-request-id') as string,
    transfer_id: transfers[0].id,
    event_id: delivery.event_id,
    endpoint_id: delivery.endpoint_id,
    top_up_id: top_up.id,
    token_id: token.id,
    invitation_id: invitation.id,
    email,
    audit_id: rows[0].id,
  }
}

const NAMES_SOMETHING = /^ids?$|_ids?$|^(target|q|before|after)$/
const propertiesOf = (schema: unknown) => Object.keys((schema as { properties?: object })?.properties ?? {})
const namesSomething = (schema: unknown) => propertiesOf(schema).some((name) => NAMES_SOMETHING.test(name))

test('every route that names something has an example that names something of another account', () => {
  const naming = table.filter(({ path, body }) => path.endsWith('/{id}') || namesSomething(body))
  expect(naming.filter((route) => exampleOf(route).foreign === undefined).map(({ name }) => name)).toEqual([])
  const searching = table.filter(({ query }) => namesSomething(query))
  expect(searching.filter((route) => !exampleOf(route).foreignSearches).map(({ name }) => name)).toEqual([])
})

test('the other account has all of it', async () => {
  for (const route of table.filter(({ path }) => path.endsWith('/{id}'))) {
    const { foreign } = exampleOf(route)
    if (typeof foreign !== 'function') continue
    const { status } = await sendRoute(dashboard.port, route, stranger, foreign(other))
    expect([route.name, status]).toEqual([route.name, 200])
  }
  const found = await asStranger('revealLink', { body: { order_id: other.order_id, n: 1 } })
  expect(found.link).toBe(LINK)
})

describe('another account’s anything is not found, exactly as if it did not exist', () => {
  const naming = table.flatMap((route) => {
    const { foreign } = exampleOf(route)
    return typeof foreign === 'function' ? [[route.name, route, foreign] as const] : []
  })
  test.each(naming)('%s', async (_name, route, foreign) => {
    const before = await contents()
    const answer = await sendRoute(dashboard.port, route, owner, foreign(other))
    expect([answer.status, refusalOf(answer)]).toEqual([404, 'not_found'])
    const madeUp = Object.fromEntries(Object.entries(other).map(([name, id]) => [name, otherIdLike(id)]))
    const unknown = await sendRoute(dashboard.port, route, owner, foreign(madeUp as unknown as ForeignThings))
    expect(withoutIds(answer.body)).toEqual(withoutIds(unknown.body))
    expect(await contents()).toEqual(before)
  })
})

describe('a read shows nothing of another account', () => {
  const reads = table.filter(({ method, stream }) => method === 'GET' && stream === undefined)
  test.each(reads.map((route) => [route.name, route] as const))('%s', async (_name, route) => {
    const { query, id, foreignSearches } = exampleOf(route)
    const inputs = [{ ...(query && { query }), ...(id && { id }) }]
    for (const search of foreignSearches?.(other) ?? []) inputs.push({ query: { ...query, ...search } })
    for (const input of inputs) {
      const answer = await sendRoute(dashboard.port, route, owner, input)
      expect(answer.status).toBeLessThan(500)
      const shown = Object.entries(other).filter(([, value]) => answer.body.includes(value))
      expect([input, shown]).toEqual([input, []])
      expect(answer.body).not.toContain(LINK)
    }
  })
})

/** What the other account has, as the database's owner sees it. A refused action leaves it as it was. */
async function contents() {
  const { rows } = await shop.db.one<{ rows: unknown }>(
    statement(
      `select jsonb_build_object(
         'keys', (select jsonb_agg(jsonb_build_array(k.id, k.name, k.revoked_at) order by k.id) from api_keys k where k.account_id = $1),
         'members', (select jsonb_agg(jsonb_build_array(m.person_id, m.role) order by m.person_id) from memberships m where m.account_id = $1),
         'deliveries', (select jsonb_agg(jsonb_build_array(d.event_id, d.state, d.round) order by d.event_id) from deliveries d where d.account_id = $1),
         'links', (select count(*) from link_reads r where r.account_id = $1)) as rows`,
      [other.account_id],
    ),
  )
  return rows
}

/** Of the same form, and nobody's. */
function otherIdLike(id: string): string {
  const [start, end] = [id.slice(0, -4), id.slice(-4)]
  return start + (end === '0000' ? '1111' : '0000')
}

/** A refusal without what differs from request to request. */
const withoutIds = (body: string) =>
  body.replaceAll(/\b(req|ord|evt|key|top|inv|per|acct|ses|pat|k)_\w+/g, '')
