import { VIEWS_PER_LIST_MAX } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Member } from '../../src/dashboard/member.ts'
import { viewsArea } from '../../src/dashboard/views/views.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { callAs, memberAct, memberOf, signIn } from '../../testing/member.ts'

let database: TestDatabase
let area: ReturnType<typeof viewsArea>
beforeAll(async () => {
  database = await openTestDatabase()
  area = viewsArea({ db: database.dashboard, act: memberAct(database) })
})
afterAll(() => database.close())

let accounts = 0
async function newMember(facts: Partial<Member> = {}): Promise<Member> {
  accounts += 1
  const account_id = facts.account_id ?? `acct_${accounts}`
  await database.asOwner(`
    insert into accounts (id, name, created_at) values ('${account_id}', 'Views', now()) on conflict do nothing`)
  return signIn(database, memberOf(account_id, { person_id: `person_${accounts}`, ...facts }))
}
const save = (member: Member, name: string, query = 'status=paid', list = 'orders') =>
  callAs(member, area.saveView, { body: { list, name, query } })
const rename = (member: Member, id: string, name: string) =>
  callAs(member, area.renameView, { body: { id, name } })
const remove = (member: Member, id: string) => callAs(member, area.deleteView, { body: { id } })
const namesOf = async (member: Member) => (await callAs(member, area.listViews)).views.map(({ name }) => name)
const refused = (type: string, message = '') =>
  expect.objectContaining({ name: 'Refusal', type, message: expect.stringContaining(message) })

test('a view is saved, listed by list and name, renamed and deleted, each with an audit row', async () => {
  const member = await newMember()
  const { id } = await save(member, ' Large & paid ', 'min=10000&status=paid&q=a%26b')
  await save(member, 'Failing', 'code=5xx&hours=24', 'deliveries')
  await save(member, 'All refunds', 'kind=refund&from=2026-01-01', 'statement')
  await save(member, 'What Ada did', 'person_id=per_1&action=key', 'audit')
  await save(member, 'Alpha', 'created=24h')
  expect((await callAs(member, area.listViews)).views).toMatchObject([
    { list: 'audit', name: 'What Ada did', query: 'person_id=per_1&action=key' },
    { list: 'deliveries', name: 'Failing', query: 'code=5xx&hours=24' },
    { list: 'orders', name: 'Alpha', query: 'created=24h' },
    // In one form, whatever the order of the address was.
    { list: 'orders', name: 'Large & paid', query: 'status=paid&q=a%26b&min=10000' },
    { list: 'statement', name: 'All refunds', query: 'kind=refund&from=2026-01-01' },
  ])
  expect(await rename(member, id, 'large & PAID')).toMatchObject({ id, name: 'large & PAID' })
  await remove(member, id)
  await expect(remove(member, id)).rejects.toEqual(refused('not_found'))
  await expect(rename(member, id, 'Again')).rejects.toEqual(refused('not_found'))
  expect(await namesOf(member)).not.toContain('large & PAID')
  const audit = await database.owner.many(
    sql`select action, target, details from audit_log where target = ${id} order by id`,
  )
  expect(audit).toMatchObject([
    { action: 'view.save', details: { after: { list: 'orders', name: 'Large & paid' } } },
    { action: 'view.rename', details: { before: { name: 'Large & paid' }, after: { name: 'large & PAID' } } },
    { action: 'view.delete', details: { before: { name: 'large & PAID' } } },
  ])
})

test('a name is taken in its list whatever its case or form, and free in another list and for another member', async () => {
  const member = await newMember()
  const colleague = await newMember({ account_id: member.account_id })
  const { id } = await save(member, 'Über 100')
  for (const name of ['Über 100', 'über 100', 'u\u0308ber 100', 'Ｕ̈ber 100'])
    await expect(save(member, name)).rejects.toEqual(
      refused('conflict', 'You have a view "Über 100" of this list'),
    )
  await save(member, 'Über 100', 'state=failed', 'deliveries')
  await save(colleague, 'über 100')
  const other = await save(member, 'Other')
  await expect(rename(member, other.id, 'ÜBER 100')).rejects.toEqual(refused('conflict'))
  expect(await rename(member, id, 'ÜBER 100')).toMatchObject({ name: 'ÜBER 100' })
})

test('a view is its person’s own: a colleague, and the same person in another account, neither see nor touch it', async () => {
  const member = await newMember()
  const { id } = await save(member, 'Mine')
  const colleague = await newMember({ account_id: member.account_id })
  const elsewhere = await newMember({ person_id: member.person_id })
  for (const other of [colleague, elsewhere]) {
    expect(await namesOf(other)).toEqual([])
    await expect(remove(other, id)).rejects.toEqual(refused('not_found'))
    await expect(rename(other, id, 'Theirs')).rejects.toEqual(refused('not_found'))
  }
  expect(await namesOf(member)).toEqual(['Mine'])
})

test.each([
  ['orders', 'before=ord_01k00000000000000000000001', '"before" is not a filter'],
  ['orders', 'status=paid&open=ord_01k00000000000000000000001', '"open" is not a filter'],
  ['orders', '__proto__=x', '"__proto__" is not a filter'],
  ['orders', 'constructor=x', '"constructor" is not a filter'],
  ['orders', 'status=lost', 'The filter status cannot be "lost"'],
  ['orders', 'status=', 'The filter status cannot be ""'],
  ['orders', 'min=-1', 'The filter min cannot be'],
  ['orders', 'from=2026-13-01', 'The filter from cannot be'],
  ['orders', 'created=24h&created=7d', 'The filter created is there twice'],
  ['orders', '#//evil.example', 'is not a filter'],
  ['orders', 'javascript:alert(1)', 'is not a filter'],
  ['orders', '&', 'There is nothing to save'],
  ['deliveries', 'status=paid', '"status" is not a filter'],
  ['deliveries', 'order=ord_1', 'The filter order cannot be'],
  ['deliveries', 'hours=9999', 'The filter hours cannot be'],
  ['statement', 'kind=theft', 'The filter kind cannot be'],
  ['audit', 'limit=1', '"limit" is not a filter'],
])('of the list %s, %s is refused', async (list, query, message) => {
  const member = await newMember()
  await expect(save(member, 'View', query, list)).rejects.toEqual(refused('invalid_request', message))
  expect(await namesOf(member)).toEqual([])
})

test('whatever is searched for, a saved view is a query of known names and nothing that could be an address or a page', async () => {
  const member = await newMember()
  const q = '"><script>alert(1)</script>//evil.example/?x#\\'
  const { query } = await save(member, 'Odd', String(new URLSearchParams({ q })))
  expect(query).toMatch(/^q=[\w%+.*-]+$/)
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({ q })
})

test.each([[''], ['   '], ['x'.repeat(41)], ['a\u202eb'], ['a\nb']])(
  'the name %j is refused',
  async (name) => {
    await expect((async () => save(await newMember(), name))()).rejects.toEqual(refused('invalid_request'))
  },
)

test('two tabs that save the last view that fits at the same time: one is saved, the other is refused, and another list has room', async () => {
  const member = await newMember()
  for (let n = 1; n < VIEWS_PER_LIST_MAX; n += 1) await save(member, `View ${n}`)
  const tabs = await Promise.allSettled(['a', 'b', 'c', 'd'].map((tab) => save(member, `Last ${tab}`)))
  expect(tabs.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const tab of tabs)
    if (tab.status === 'rejected') expect(tab.reason).toEqual(refused('conflict', 'no more fit'))
  expect(await namesOf(member)).toHaveLength(VIEWS_PER_LIST_MAX)
  await save(member, 'Other list', 'state=failed', 'deliveries')
})

test('two tabs that save the same name at the same time: it is there once', async () => {
  const member = await newMember()
  const tabs = await Promise.allSettled([save(member, 'Same'), save(member, 'SAME')])
  expect(tabs.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await namesOf(member)).toHaveLength(1)
})

test('views end with the membership, and do not come back with it', async () => {
  const member = await newMember()
  const colleague = await newMember({ account_id: member.account_id })
  await save(member, 'Mine')
  await save(colleague, 'Stays')
  const { person_id, account_id } = member
  await database.asOwner(
    `delete from memberships where person_id = '${person_id}' and account_id = '${account_id}'`,
  )
  await expect(save(member, 'Again')).rejects.toEqual(refused('sign_in_required'))
  await signIn(database, member)
  expect(await namesOf(member)).toEqual([])
  expect(await namesOf(colleague)).toEqual(['Stays'])
})
