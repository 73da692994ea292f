import { type DashboardRoute, type DashboardRouteName, dashboardRoutes } from '@shopwire/contract/dashboard'
import type { PublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { expect, vi } from 'vitest'
import { type SignedInBrowser, sendRoute } from './dashboard.ts'
import { openWholeDashboard } from './dashboard-areas.ts'
import { type ForeignThings, type RouteExample, routeExamples } from './dashboard-examples.ts'
import { itemOf, putItems, untilFollowed } from './items.ts'
import { openShop, type Shop } from './shop.ts'
import { startDeliveries, startWebhookReceiver } from './webhook-receiver.ts'
import { startWorker } from './worker.ts'

const ITEM = '1144058340327047001'
export const LINK = 'https://gift.example/claim/of-the-other-account'
const WAIT = { timeout: 15_000 }

export type TwoAccounts = Awaited<ReturnType<typeof openTwoAccounts>>

type AsPerson = (
  name: DashboardRouteName,
  input?: Pick<RouteExample, 'query' | 'body' | 'id'>,
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came back; the test says what it should be
) => Promise<any>

export function routeNamed(name: DashboardRouteName): DashboardRoute {
  return dashboardRoutes.find((route) => route.name === name) as DashboardRoute
}

/** The whole dashboard with an owner of one account, and a stranger whose account has one of everything. */
export async function openTwoAccounts() {
  const shop = await openShop({ limits: { requestsMax: 1_000, ordersMax: 1_000 } })
  const receiver = await startWebhookReceiver()
  const workers = [startWorker(shop), startDeliveries(shop, receiver)]
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM)]))
  await shop.operator.loadPool(ITEM, [LINK])
  const dashboard = await openWholeDashboard(shop)
  const one = await shop.operator.createAccount('One')
  const owner = await dashboard.signIn(one.id, 'owner', { isSteppedUp: true })
  const stranger = await dashboard.signIn(shop.account.id, 'owner', { isSteppedUp: true })
  /** Does what a person does in their browser. */
  const as =
    (person: SignedInBrowser): AsPerson =>
    async (name, input = {}) => {
      const answer = await sendRoute(dashboard.port, routeNamed(name), person, input)
      expect([name, answer.status, answer.body]).toEqual([name, 200, expect.any(String)])
      return JSON.parse(answer.body)
    }
  const asStranger = as(stranger)
  const other = await makeThings(shop, receiver, stranger, asStranger)
  // Otherwise sending an event again would be refused for another reason.
  await as(owner)('setWebhook', { body: { url: receiver.url } })
  return {
    shop,
    dashboard,
    account_id: one.id,
    owner,
    stranger,
    other,
    asOwner: as(owner),
    asStranger,
    async close() {
      await dashboard.close()
      for (const worker of workers) await worker.stop()
      await receiver.close()
      await shop.close()
    },
  }
}

/** One of everything, each made as customers make it. */
async function makeThings(
  shop: Shop,
  receiver: PublicReceiver,
  stranger: SignedInBrowser,
  asStranger: AsPerson,
): Promise<ForeignThings> {
  const email = 'only-theirs@example.com'
  await asStranger('setWebhook', { body: { url: receiver.url } })
  const idempotency_key = 'cart-of-the-other-account'
  const body = JSON.stringify({ items: [{ id: ITEM, qty: 1 }], idempotency_key })
  const bought = await shop.call('POST', '/v1/orders', { body })
  expect(bought.status).toBe(201)
  const order_id: string = bought.body.id
  const deliveries = async () => (await asStranger('listDeliveries', { query: { order_id } })).deliveries
  // The attempt of a test has a row of its own, even when it is accepted at once.
  const { event_id: test_id } = await asStranger('testWebhook', { body: {} })
  await vi.waitFor(async () => {
    const all: { event_id: string; state: string }[] = [
      ...(await deliveries()),
      ...(await asStranger('listDeliveries')).deliveries.filter(
        (one: { event_id: string }) => one.event_id === test_id,
      ),
    ]
    expect(all.map(({ state }) => state)).toEqual(['accepted', 'accepted', 'accepted'])
  }, WAIT)
  const [delivery] = await deliveries()
  const { top_up } = await asStranger('startTopUp', routeExamples.startTopUp)
  const { token } = await asStranger('createToken', routeExamples.createToken)
  const invitation = await asStranger('invite', { body: { email, role: 'viewer' } })
  const { transfers } = await asStranger('listTransfers')
  const { id: view_id } = await asStranger('saveView', routeExamples.saveView)
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
    view_id,
  }
}
