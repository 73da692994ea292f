import {
  acceptInvitation,
  newPerson,
  type Person,
  signOut,
  waitForShell,
} from '@shopwire/test-kit/people/person'
import { openWorld, type World } from '@shopwire/test-kit/people/world'
import { linkIn } from '@shopwire/test-kit/receivers/mail-sink'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** What pages and service agree on about second factors, in a browser against the whole store. */
const START_MS_MAX = 120_000

let world: World
let owner: Person
beforeAll(async () => {
  world = await openWorld({})
  const { id } = await world.system.admin('accounts', 'create', 'Acme')
  owner = await newPerson(world, 'mouse', 'Olga Passkey')
  await world.system.admin('people', 'invite', id, '--email', owner.email, '--role', 'owner')
  await acceptInvitation(owner, linkIn(await world.mail.next(owner.email, /invit/i)), 'Acme')
}, START_MS_MAX)
afterAll(() => world?.stop())

test('before the second factor is set up nothing opens, whatever a page asks for', async () => {
  const statuses = await owner.page.evaluate(async () => {
    const ask = (path: string) => fetch(path).then(({ status }) => status)
    return [await ask('/api/home'), await ask('/api/security'), await ask('/api/session')]
  })
  expect(statuses).toEqual([403, 403, 200])
})

test('somebody whose only second factor is a passkey is asked for it after the password', async () => {
  const { page, press, write, field, button, heading } = owner
  await press(button('Add a passkey'))
  await waitForShell(page)
  await signOut(owner)
  await write(field('E-mail'), owner.email)
  await write(page.getByLabel('Password', { exact: true }), owner.password)
  await press(button('Sign in'))
  await heading('Second factor').waitFor()
  expect(await page.getByRole('navigation', { name: 'Main' }).count()).toBe(0)
  await press(button('Sign in with a passkey'))
  await waitForShell(page)
})

test('threat 73: after a switch in another window nothing is done in this one, which says so and offers to reload', async () => {
  const { context, page, press, write, choose, button, field, heading } = owner
  const globex = (await world.system.admin('accounts', 'create', 'Globex')).id
  await world.system.query(`
    insert into memberships (account_id, person_id, role, created_at)
    select '${globex}', id, 'owner', now() from people where email = '${owner.email}'`)
  // The stream would tell within a second. Without it, what somebody does before that is the first to be refused.
  await page.route(/\/api\/live/, () => {})
  await page.goto('/keys')
  await press(button('Create key').first())
  await write(field('Name'), 'meant for Acme')
  await choose(page.getByRole('radio', { name: 'Full' }))
  const second = await context.newPage()
  await second.goto('/')
  await switchTo('Globex')
  await press(page.getByRole('dialog').getByRole('button', { name: 'Create key' }))
  await heading('The account was switched in another window').waitFor()
  await page.getByText('This window still shows Acme, and you are in Globex now.').waitFor()
  expect(await world.system.query('select count(*) from api_keys')).toBe('0')
  await page.unroute(/\/api\/live/)
  await press(button('Reload page'))
  await page.getByRole('button', { name: 'Globex. Switch account' }).waitFor()

  // With its stream, the window knows before anybody does anything in it.
  await switchTo('Acme')
  await page.getByText('This window still shows Globex, and you are in Acme now.').waitFor()
  await second.close()

  async function switchTo(name: string) {
    await second.getByRole('button', { name: /Switch account$/ }).click()
    await second.getByRole('menuitem', { name }).click()
    await second.getByText(`Now in ${name}`).waitFor()
  }
})

test('an owner renames the account in Settings, and sees it at once', async () => {
  const { page, press, write } = owner
  await page.goto(new URL('/settings', page.url()).href)
  const form = page.locator('form', { has: page.locator('#account-name') })
  await write(form.getByRole('textbox'), 'Acme Renamed')
  await press(form.getByRole('button', { name: 'Save name' }))
  await page.getByText('Name saved').waitFor()
  await page.getByRole('button', { name: /^Acme Renamed.*Switch account$/ }).waitFor()
})
