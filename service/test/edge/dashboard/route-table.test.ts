import { CSRF_HEADER, type DashboardRoute, dashboardRoutes, roles } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DashboardHandlers } from '../../../src/edge/dashboard/dashboard-family.ts'
import { refuse } from '../../../src/platform/trouble.ts'
import {
  openDashboard,
  refusalOf,
  type SignedInBrowser,
  sendRoute,
  type TestDashboard,
} from '../../../testing/dashboard.ts'
import { routeExamples } from '../../../testing/dashboard-examples.ts'

/** Threat 66. Every route of the table; a new one is in these tests as soon as it is in the contract. */
const table: readonly DashboardRoute[] = dashboardRoutes
const posts = table.filter(({ method }) => method === 'POST')
const withSession = table.filter(({ access }) => access !== 'anyone')
const forMembers = table.filter(({ access }) => typeof access !== 'string')

let dashboard: TestDashboard
let called: string[] = []
/** One person per role, each with a fresh second factor. */
const people = new Map<string, SignedInBrowser>()
let withoutFactor: SignedInBrowser
let mustEnrol: SignedInBrowser

beforeAll(async () => {
  dashboard = await openDashboard({ handlers: recordingHandlers })
  const { id } = await dashboard.operator.createAccount('One')
  for (const role of roles) people.set(role, await dashboard.signIn(id, role, { isSteppedUp: true }))
  withoutFactor = await dashboard.signIn(id, 'owner')
  mustEnrol = await dashboard.signIn(id, 'owner', { hasPassword: true, isSteppedUp: true })
})
afterAll(() => dashboard.close())
beforeEach(() => {
  called = []
})

/** What the checks let through is called and refused; what an area replies is tested with the area. */
function recordingHandlers(): DashboardHandlers {
  const entries = table.map(({ name }) => [
    name,
    async () => {
      called.push(name)
      throw refuse('conflict', 'Called.')
    },
  ])
  return Object.fromEntries(entries) as DashboardHandlers
}

const owner = () => people.get('owner') as SignedInBrowser
const exampleOf = ({ name }: DashboardRoute) => routeExamples[name as keyof typeof routeExamples]
const send = (route: DashboardRoute, browser: SignedInBrowser | undefined, headers = {}) =>
  sendRoute(dashboard.port, route, browser, { ...exampleOf(route), headers })

test('every route has an example, a path below /api, and an id only as its last segment', () => {
  expect(table.filter((route) => exampleOf(route) === undefined)).toEqual([])
  expect(new Set(table.map(({ name }) => name)).size).toBe(table.length)
  expect(table.filter(({ path }) => !/^\/api(\/[a-z0-9-]+)+(\.(csv|pdf)|\/\{id\})?$/.test(path))).toEqual([])
})

test('reads take no body, and actions no query', () => {
  expect(table.filter(({ method, body }) => method === 'GET' && body !== undefined)).toEqual([])
  expect(table.filter(({ method, query }) => method === 'POST' && query !== undefined)).toEqual([])
})

describe('without a session', () => {
  test.each(withSession.map((route) => [route.name, route] as const))('%s: 401', async (_name, route) => {
    for (const browser of [undefined, dashboard.visitor()]) {
      const answer = await sendRoute(dashboard.port, route, browser, exampleOf(route))
      expect([answer.status, refusalOf(answer)]).toEqual([401, 'sign_in_required'])
    }
    expect(called).toEqual([])
  })
})

describe('a request that another page could have made is refused, and nothing is done', () => {
  const forgeries: readonly (readonly [string, Record<string, string | undefined>])[] = [
    ['no Origin', { Origin: undefined }],
    ['another Origin', { Origin: 'https://evil.example' }],
    ['another port', { Origin: 'https://dashboard.example:444' }],
    ['the Origin without TLS', { Origin: 'http://dashboard.example' }],
    ['the Origin null', { Origin: 'null' }],
    ['no Sec-Fetch-Site', { 'Sec-Fetch-Site': undefined }],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['another host of the site', { 'Sec-Fetch-Site': 'same-site' }],
    ['no token', { [CSRF_HEADER]: undefined }],
    ['an empty token', { [CSRF_HEADER]: '' }],
    ['a wrong token', { [CSRF_HEADER]: 'x'.repeat(43) }],
  ]
  test.each(posts.map((route) => [route.name, route] as const))('%s', async (_name, route) => {
    for (const [what, headers] of forgeries) {
      const answer = await send(route, owner(), headers)
      expect([what, answer.status, refusalOf(answer)]).toEqual([what, 403, 'request_forged'])
    }
    const stolen = await send(route, owner(), { [CSRF_HEADER]: withoutFactor.csrf })
    expect([stolen.status, refusalOf(stolen)]).toEqual([403, 'request_forged'])
    expect(called).toEqual([])
  })
  test.each(table.filter(({ method }) => method === 'GET').map((route) => [route.name, route] as const))(
    '%s: not read by a page of another site',
    async (_name, route) => {
      for (const site of ['cross-site', 'same-site']) {
        const headers = { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'cors' }
        expect(refusalOf(await send(route, owner(), headers))).toBe('request_forged')
      }
      expect(called).toEqual([])
    },
  )
  test.each(posts.map((route) => [route.name, route] as const))(
    '%s: content that a form could send: 400',
    async (_name, route) => {
      for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded']) {
        const answer = await send(route, owner(), { 'Content-Type': type })
        expect([answer.status, refusalOf(answer)]).toEqual([400, 'invalid_request'])
      }
      expect(called).toEqual([])
    },
  )
})

/** All that somebody may ask for whatever account the page shows, because it is about none. */
const ABOUT_NO_ACCOUNT: readonly string[] = [
  // The account that the page is to show, and every way to another one.
  'getSession',
  'switchAccount',
  'openInvitation',
  'acceptInvitation',
  // By the link of a mail, signed in or not.
  'confirmAlertAddress',
  // Signing in and out.
  'signInWithPassword',
  'signInWithTotp',
  'signInWithRecoveryCode',
  'beginPasskeySignIn',
  'signInWithPasskey',
  'beginCompanySignIn',
  'finishCompanySignIn',
  'signOut',
  'signOutEverywhere',
  'forgotPassword',
  'resetPassword',
  'sendEmailVerification',
  'verifyEmail',
  // A person's own factors, sessions and name.
  'stepUpWithTotp',
  'stepUpWithRecoveryCode',
  'beginPasskeyStepUp',
  'stepUpWithPasskey',
  'getSecurity',
  'beginTotp',
  'confirmTotp',
  'removeTotp',
  'beginPasskey',
  'addPasskey',
  'renamePasskey',
  'removePasskey',
  'renewRecoveryCodes',
  'endSession',
  'changePassword',
  'renamePerson',
]

describe('threat 73: two windows, two accounts: a session that was switched in the other window', () => {
  /** Shows the account from before the switch. */
  let window: SignedInBrowser
  beforeAll(async () => {
    const { id: shown } = await dashboard.operator.createAccount('Shown')
    const { id: other } = await dashboard.operator.createAccount('Other')
    window = await dashboard.signIn(shown, 'owner', { isSteppedUp: true })
    await dashboard.database.asOwner(`
      insert into memberships (account_id, person_id, role, created_at)
      values ('${other}', '${window.person_id}', 'owner', now());
      update sessions set account_id = '${other}' where id = '${window.session_id}'`)
  })

  test.each(table.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const answer = await send(route, window)
    if (ABOUT_NO_ACCOUNT.includes(name)) return expect(called).toEqual([name])
    expect(called).toEqual([])
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([
      409,
      {
        type: 'account_mismatch',
        message:
          'This window shows another account than the one you are in now: it was switched in another window. Nothing was read or changed. Reload the page.',
      },
    ])
  })
  test('every exception is a route', () => {
    const names = table.map(({ name }) => name)
    expect(ABOUT_NO_ACCOUNT.filter((name) => !names.includes(name))).toEqual([])
  })
  test.each(forMembers.map((route) => [route.name, route] as const))(
    '%s without naming an account is refused too, and with the right one answered',
    async (name, route) => {
      const answer = await send(route, { ...owner(), account_id: null })
      expect([answer.status, refusalOf(answer)]).toEqual([409, 'account_mismatch'])
      expect(called).toEqual([])
      await send(route, owner())
      expect(called).toEqual([name])
    },
  )
})

describe('role × route', () => {
  const cells = forMembers.flatMap((route) => roles.map((role) => [route.name, role, route] as const))
  test.each(cells)('%s as %s', async (name, role, route) => {
    const answer = await send(route, people.get(role))
    if (route.access.includes(role)) {
      expect(refusalOf(answer)).toBe('conflict')
      expect(called).toEqual([name])
    } else {
      expect([answer.status, refusalOf(answer)]).toEqual([403, 'role_missing'])
      expect(called).toEqual([])
    }
  })
  test('a signed-in person without an account: 403 on every route of members', async () => {
    const nobody = await dashboard.signIn(null)
    for (const route of forMembers) expect(refusalOf(await send(route, nobody))).toBe('role_missing')
    expect(called).toEqual([])
  })
})

describe('second factor', () => {
  const guarded = table.filter(({ isStepUp }) => isStepUp)
  test.each(guarded.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const answer = await send(route, withoutFactor)
    expect([answer.status, refusalOf(answer)]).toEqual([403, 'step_up_required'])
    expect(called).toEqual([])
    await send(route, owner())
    expect(called).toEqual([name])
  })
})

describe('somebody with a password and without a second factor', () => {
  test('may set one up or leave, and that is all', () => {
    expect(table.filter(({ isEnrolment }) => isEnrolment).map(({ name }) => name)).toEqual([
      'signOut',
      'signOutEverywhere',
      'beginTotp',
      'confirmTotp',
      'beginPasskey',
      'addPasskey',
    ])
  })
  test.each(withSession.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const answer = await send(route, mustEnrol)
    if (route.isEnrolment) expect(called).toEqual([name])
    else {
      expect([answer.status, refusalOf(answer)]).toEqual([403, 'second_factor_missing'])
      expect(called).toEqual([])
    }
  })
  test('an operator without a passkey neither, an authenticator app does not do; with the factor all opens', async () => {
    const route = forMembers[0] as DashboardRoute
    const { id } = await dashboard.operator.createAccount('Three')
    const [app, key, operator] = [
      await dashboard.signIn(id, 'owner', { hasPassword: true }),
      await dashboard.signIn(id, 'owner', { hasPassword: true }),
      await dashboard.signIn(null),
    ]
    const { asOwner } = dashboard.database
    const getSecurity = table.find(({ name }) => name === 'getSecurity') as DashboardRoute
    await asOwner(`update people set has_totp = true where id = '${app.person_id}'`)
    await asOwner(`update people set kind = 'operator', has_totp = true where id = '${operator.person_id}'`)
    expect(refusalOf(await send(getSecurity, operator))).toBe('second_factor_missing')
    for (const { person_id } of [key, operator])
      await asOwner(`
        insert into passkeys (id, person_id, credential_id, public_key, counter, device_type, is_synced, created_at)
        values ('pk_${person_id}', '${person_id}', 'c_${person_id}', 'key', 0, 'singleDevice', false, now())`)
    for (const browser of [app, key]) expect(refusalOf(await send(route, browser))).toBe('conflict')
    expect(refusalOf(await send(getSecurity, operator))).toBe('conflict')
  })
})

test('a visitor acts with the token of their own page only', async () => {
  const [one, two] = [dashboard.visitor(), dashboard.visitor()]
  for (const route of posts.filter(({ access }) => access === 'anyone')) {
    called = []
    const foreign = await sendRoute(dashboard.port, route, { ...one, csrf: two.csrf }, exampleOf(route))
    expect(refusalOf(foreign)).toBe('request_forged')
    expect(called).toEqual([])
    await sendRoute(dashboard.port, route, one, exampleOf(route))
    expect(called).toEqual([route.name])
  }
})

test('a session that has ended, and one of a member who was removed, are refused at once', async () => {
  const { id } = await dashboard.operator.createAccount('Two')
  const [ended, removed] = [await dashboard.signIn(id), await dashboard.signIn(id)]
  const route = forMembers[0] as DashboardRoute
  await dashboard.database.asOwner(`delete from sessions where id = '${ended.session_id}'`)
  expect(refusalOf(await send(route, ended))).toBe('sign_in_required')
  await dashboard.database.asOwner(`delete from memberships where person_id = '${removed.person_id}'`)
  expect(refusalOf(await send(route, removed))).toBe('role_missing')
})

test('unknown paths below /api: JSON 404 of this family, without cookies', async () => {
  for (const path of ['/api', '/api/', '/api/nothing', '/api/session/']) {
    const answer = await sendRoute(dashboard.port, { ...(table[0] as DashboardRoute), path }, owner())
    expect([answer.status, refusalOf(answer)]).toEqual([404, 'not_found'])
    expect(answer.headers).not.toHaveProperty('set-cookie')
  }
})
