import {
  BASE_PATH,
  type Route,
  type RouteName,
  routeNamed,
  type Scope,
  scopeForBody,
  scopes,
} from '@shopwire/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allEndpoints, type EndpointDeps } from '../../src/edge/endpoints/index.ts'
import { asSuperuser } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

/**
 * Every set of scopes against every mounted route (threat 33). The routes come from the service's own list and the expectations
 * from the contract's table, so a new route is tested without a change here.
 */
const subsets: Scope[][] = Array.from({ length: 2 ** scopes.length }, (_, bits) =>
  scopes.filter((_scope, n) => bits & (1 << n)),
)

/** Bodies that pass validation, for routes that take one; a route with a body and none here fails the test below. */
const bodies: Partial<Record<RouteName, readonly string[]>> = {
  postQuote: ['{"items":[{"id":"12345678901234567"}]}'],
  postOrders: ['{"items":[{"id":"12345678901234567"}],"idempotency_key":"matrix-1"}'],
  postWebhook: ['{"url":null}', '{"url":"https://93.184.216.34/hook"}'],
  postWebhookTest: ['{}'],
}

const mounted = allEndpoints({} as EndpointDeps).map(({ name }) => name)

describe('64 sets of scopes against every mounted route', () => {
  let shop: Shop
  let keys: TestKey[]
  beforeAll(async () => {
    shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
    await putItems(shop.database.operator, [itemOf('12345678901234567')])
    keys = await Promise.all(
      subsets.map((subset) => (subset.length === 0 ? keyWithoutScopes() : shop.makeKey(subset))),
    )
  })
  afterAll(() => shop.close())

  /** Neither our code nor the schema allows such a key; if one existed, it must be refused everywhere. */
  async function keyWithoutScopes(): Promise<TestKey> {
    const key = await shop.makeKey(['account:read'])
    await asSuperuser(async (client) => {
      await client.query('alter table api_keys drop constraint api_keys_scopes_check')
      await client.query('alter table api_keys disable trigger api_keys_stay_as_made')
      await client.query(`update api_keys set scopes = '{}' where id = $1`, [key.id])
    }, shop.database.superuserUrl)
    return key
  }

  test('a key without any scope cannot be created', async () => {
    await expect(shop.makeKey([])).rejects.toThrow(/at least one scope/)
  })

  test.each(mounted)('%s accepts exactly the scopes of the contract', async (name) => {
    const route: Route = routeNamed(name)
    const variants = route.body === undefined ? [undefined] : bodies[name]
    expect(variants, `add a valid body for ${name} to this test`).toBeDefined()
    for (const body of variants ?? []) {
      const needed = [route.scope, scopeForBody(route, body && JSON.parse(body))].filter(
        (scope) => scope !== null,
      )
      const target = BASE_PATH + route.path.replace('{id}', 'nothing-here')
      const outcomes = await Promise.all(
        keys.map(async (key, n) => {
          const subset = subsets[n] ?? []
          const isAllowed = needed.every((scope) => subset.includes(scope))
          const { status, body: answer } = await shop.call(route.method, target, {
            key,
            ...(body && { body }),
          })
          // An authorised request gets the answer of the endpoint: not found, nothing to test, too many already.
          const isRight = isAllowed ? ![401, 403].includes(status) && status < 500 : status === 403
          const isNamed = isAllowed || answer.error.type === 'insufficient_scope'
          return isRight && isNamed ? undefined : { subset, status, answer }
        }),
      )
      expect(outcomes.filter((wrong) => wrong !== undefined)).toEqual([])
    }
  })

  test.each(mounted.filter((name) => routeNamed(name).scope !== null))(
    '%s refuses a suspended account',
    async (name) => {
      const other = await shop.operator.createAccount('Other')
      const key = await shop.makeKey(scopes, other.id)
      await shop.operator.suspendAccount(other.id, 'test')
      const route: Route = routeNamed(name)
      const target = BASE_PATH + route.path.replace('{id}', 'nothing-here')
      const body = bodies[name]?.[0]
      const { status, body: answer } = await shop.call(route.method, target, { key, ...(body && { body }) })
      expect([status, answer.error.type]).toEqual([403, 'account_suspended'])
    },
  )
})
