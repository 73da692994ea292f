import { type DashboardRoute, type DashboardRouteName, dashboardRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { statement } from '../../../src/platform/database/db.ts'
import { refusalOf, type SignedInBrowser, sendRoute, shownBy } from '../../../testing/dashboard.ts'
import { type ForeignThings, type RouteExample, routeExamples } from '../../../testing/dashboard-examples.ts'
import { textOfPdf } from '../../../testing/pdf-text.ts'
import { LINK, openTwoAccounts, routeNamed, type TwoAccounts } from '../../../testing/two-accounts.ts'

/** Threat 66. The areas as the process mounts them, with an owner of one account who names things of another. */
const table: readonly DashboardRoute[] = dashboardRoutes
const exampleOf = ({ name }: DashboardRoute): RouteExample => routeExamples[name as DashboardRouteName]

let there: TwoAccounts
let dashboard: TwoAccounts['dashboard']
let owner: SignedInBrowser
let stranger: SignedInBrowser
let other: ForeignThings

beforeAll(async () => {
  there = await openTwoAccounts()
  dashboard = there.dashboard
  owner = there.owner
  stranger = there.stranger
  other = there.other
}, 60_000)
afterAll(() => there.close())

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
  const found = await there.asStranger('revealLink', { body: { order_id: other.order_id, n: 1 } })
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
      const { status, text } = await read(route, input)
      expect(status).toBeLessThan(500)
      const asked = JSON.stringify(input)
      const shown = Object.entries(other).filter(
        ([, value]) => text.includes(value) && !asked.includes(value),
      )
      expect([input, shown]).toEqual([input, []])
      expect(text).not.toContain(LINK)
    }
  })
})

/** Threat 73. With what is really there, so that a route that were not checked would find it, or do it. */
describe('two windows of a person in both accounts: what the first asks for after the second has switched', () => {
  let window: SignedInBrowser
  let before: unknown
  beforeAll(async () => {
    const { database } = there.shop
    window = await dashboard.signIn(there.account_id, 'owner', { isSteppedUp: true })
    await database.asOwner(`
      insert into memberships (account_id, person_id, role, created_at)
      values ('${other.account_id}', '${window.person_id}', 'owner', now())`)
    const body = { account_id: other.account_id }
    const switched = await sendRoute(dashboard.port, routeNamed('switchAccount'), window, { body })
    expect(switched.status).toBe(200)
    before = await everything()
  })
  const ofMembers = table.filter(({ access }) => typeof access !== 'string')
  test.each(ofMembers.map((route) => [route.name, route] as const))('%s', async (_name, route) => {
    const { query, body, id, foreign, foreignSearches } = exampleOf(route)
    const inputs: RouteExample[] = [{ ...(query && { query }), ...(body ? { body } : {}), ...(id && { id }) }]
    if (typeof foreign === 'function') inputs.push(foreign(other))
    for (const search of foreignSearches?.(other) ?? []) inputs.push({ query: { ...query, ...search } })
    for (const input of inputs) {
      const answer = await sendRoute(dashboard.port, route, window, input)
      expect([answer.status, refusalOf(answer)]).toEqual([409, 'account_mismatch'])
    }
  })
  test('nothing was done in either account', async () => {
    expect(await everything()).toEqual(before)
  })

  /** Every action of people leaves a row in the audit log of its account. */
  async function everything() {
    const { rows } = await there.shop.database.owner.one<{ rows: unknown }>(
      statement(
        `select jsonb_agg(jsonb_build_array(a.account_id, a.action, a.target) order by a.id) as rows
           from audit_log a
          where a.account_id in ($1, $2)`,
        [other.account_id, there.account_id],
      ),
    )
    return [rows, await contents()]
  }
})

/** The text of an answer; a download has no length. */
async function read(route: DashboardRoute, { query = {}, id = '' }: Pick<RouteExample, 'query' | 'id'>) {
  const url = new URL(route.path.replace('{id}', id), `http://127.0.0.1:${dashboard.port}`)
  const shown = shownBy(route, owner.account_id)
  url.search = String(new URLSearchParams({ ...query, ...shown.query }))
  const headers = { cookie: owner.cookie, ...shown.headers }
  const answer = await fetch(url, { headers, redirect: 'manual' })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const isPdf = answer.headers.get('content-type') === 'application/pdf'
  return { status: answer.status, text: isPdf ? textOfPdf(bytes).join('\n') : bytes.toString() }
}

/** What the other account has, as the database's owner sees it. A refused action leaves it as it was. */
async function contents() {
  const { rows } = await there.shop.database.owner.one<{ rows: unknown }>(
    statement(
      `select jsonb_build_object(
         'keys', (select jsonb_agg(jsonb_build_array(k.id, k.name, k.revoked_at) order by k.id) from api_keys k where k.account_id = $1),
         'members', (select jsonb_agg(jsonb_build_array(m.person_id, m.role) order by m.person_id) from memberships m where m.account_id = $1),
         'deliveries', (select jsonb_agg(jsonb_build_array(d.event_id, d.state, d.round) order by d.event_id) from deliveries d where d.account_id = $1),
         'views', (select jsonb_agg(jsonb_build_array(v.id, v.name) order by v.id) from saved_views v where v.account_id = $1),
         'mail', (select count(*) from mail_choices c where c.account_id = $1),
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
  body.replaceAll(/\b(req|ord|evt|key|top|inv|per|acct|ses|pat|view|k)_\w+/g, '')
