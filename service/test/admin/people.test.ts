import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOperator } from '../../src/operations/operator.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { statement } from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { enrolTotp, ORIGIN, openIdentity, PASSWORD, type TestIdentity } from '../../testing/identity.ts'

let identity: TestIdentity
let account_id: string
beforeAll(async () => {
  identity = await openIdentity()
  account_id = await identity.newAccount()
})
afterAll(() => identity.close())

function run(...args: string[]) {
  return runWith(ORIGIN, ...args)
}
function runWith(dashboardOrigin: string | undefined, ...args: string[]) {
  const { database, keyring } = identity
  const deps = { db: database.operator, keyring, clock: systemClock, cell: 'c1', dashboardOrigin }
  const operator = createOperator(
    { ...deps, admission: () => Promise.reject(new Error('not used')) },
    'cli:test',
  )
  return runAdminOn({ database, operator, journal: undefined }, ...args)
}

test('an operator invites an owner, lists, resets factors and removes, each with a row in the audit log', async () => {
  const invited = await run('people', 'invite', account_id, '--email', 'Ada@example.com', '--role', 'owner')
  expect(invited.code).toBe(0)
  const [, token = ''] = /#(\S+)/.exec(invited.out) ?? []
  const browser = identity.browser()
  await browser.call('acceptInvitation', { token, name: 'Ada', password: PASSWORD })
  await enrolTotp(browser)
  const listed = await run('people', 'list', account_id, '--json')
  expect(listed.json().members).toMatchObject([
    { email: 'ada@example.com', role: 'owner', has_second_factor: true },
  ])

  expect((await run('people', 'reset-factors', 'ada@example.com')).code).toBe(2)
  expect((await run('people', 'reset-factors', 'ada@example.com', '--reason', 'lost phone')).code).toBe(0)
  expect((await browser.call('getSession')).person).toBeNull()
  const again = identity.browser()
  const signIn = { email: 'ada@example.com', password: PASSWORD }
  expect(await again.call('signInWithPassword', signIn)).toEqual({ next: 'enrol' })

  const last = await run('people', 'remove', account_id, 'ada@example.com', '--reason', 'left')
  expect(last.code).toBe(5)
  expect(last.err).toContain('only owner')
  await identity.newMember(account_id, 'owner')
  expect((await run('people', 'remove', account_id, 'ada@example.com', '--reason', 'left')).code).toBe(0)
  expect((await again.call('getSession')).account).toBeNull()

  const rows = await identity.database.owner.many<{ action: string; details: object }>(
    statement(`select action, details from audit_log where actor = 'cli:test' order by id`, []),
  )
  expect(rows.map(({ action }) => action)).toEqual(['people.invite', 'people.reset_factors', 'people.remove'])
  expect(JSON.stringify(rows)).not.toContain(token)
  expect(JSON.stringify(rows)).toContain('lost phone')
})

test('an operator of the store is invited by a link', async () => {
  const invited = await run('operators', 'invite', '--email', 'root@example.com', '--name', 'Root')
  const [, token = ''] = /#(\S+)/.exec(invited.out) ?? []
  expect(await identity.browser().call('openInvitation', { token })).toMatchObject({
    email: 'root@example.com',
  })
})

test('an unknown role, a wrong address and a store without a dashboard are explained', async () => {
  const role = await run('people', 'invite', account_id, '--email', 'a@example.com', '--role', 'boss')
  expect(role.err).toContain('Use owner, developer, finance, viewer')
  const address = await run('people', 'invite', account_id, '--email', 'nobody', '--role', 'owner')
  expect(address.code).toBe(2)
  const without = await runWith(
    undefined,
    'people',
    'invite',
    account_id,
    '--email',
    'a@example.com',
    '--role',
    'owner',
  )
  expect(without.err).toContain('SHOPWIRE_DASHBOARD_ORIGIN')
})
