import { acceptInvitation, newPerson, waitForShell } from '@shopwire/test-kit/people/person'
import { openWorld, type World } from '@shopwire/test-kit/people/world'
import { linkIn } from '@shopwire/test-kit/receivers/mail-sink'
import { START_MS_MAX } from '@shopwire/test-kit/systems'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, type ExpectStatic, expect, test } from 'vitest'
import { type DemoStore, makeDemoStore, signInAs } from './demo-store.ts'
import { hostileFindings, makeHostileAccount } from './hostile-account.ts'
import { openings, pages } from './screen-list.ts'
import { createWalk, type Look, type Walk } from './screen-walk.ts'

/**
 * Every screen of the dashboard, with much to show, with nothing and with texts that mean harm, in both themes and from 320 to
 * 2,560 px. SHOPWIRE_SHOTS=<folder> writes a picture of each.
 */
const WALK_MS_MAX = 600_000
/** Layouts differ by width and not by theme, colours by theme and not by width. */
const looks: readonly Look[] = [
  { theme: 'light', width: 1440, rules: 'all' },
  { theme: 'dark', width: 1440, rules: 'all' },
  { theme: 'dark', width: 320, rules: 'all' },
  { theme: 'light', width: 320, rules: 'all' },
  { theme: 'light', width: 2560, rules: 'all' },
  { theme: 'dark', width: 2560, rules: 'colours' },
]

let world: World
let demo: DemoStore

beforeAll(async () => {
  world = await openWorld({
    settings: {
      SHOPWIRE_BANK_DETAILS: 'Beneficiary=Example Ltd; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22',
    },
    async prepare(system) {
      demo = await makeDemoStore(system)
    },
  })
}, START_MS_MAX)
afterAll(() => world?.stop())

test.concurrent('a busy account', { timeout: WALK_MS_MAX }, async ({ expect }) => {
  const { page } = await signInAs(world, demo, 'owner')
  const walk = createWalk({ page, account: 'full', looks, mustOpen: true })
  await expectOwnRows(page, expect)
  for (const screen of pages) await walk.visit(screen)
  for (const screen of openings) await walk.visit(screen, looks)
  expect(walk.problems).toEqual([])
  expect(walk.seen).toEqual([...pages, ...openings].map(({ name }) => name))
})

/** Of every page and filter, although the rows before stay on the screen until the answer is there. */
async function expectOwnRows(page: Page, expect: ExpectStatic) {
  await page.goto('/orders')
  const rows = page.getByRole('row').filter({ has: page.locator('[data-row-link]') })
  const newest = await rows.first().textContent()
  await page.getByRole('button', { name: 'Older' }).click()
  await expect.poll(() => rows.first().textContent()).not.toBe(newest)
  await page.getByRole('tab', { name: /^Cancelled/ }).click()
  await expect
    .poll(async () => {
      const shown = await rows.allTextContents()
      return shown.length > 0 && shown.every((row) => row.includes('Cancelled'))
    })
    .toBe(true)
  await page.goto('/deliveries?state=accepted')
  // A row begins with its state; an event of the type order.accepted may have failed.
  const accepted = rows.filter({ hasText: /^Accepted/ })
  await accepted.first().waitFor()
  await page.evaluate("history.pushState({}, '', '/deliveries?state=failed')")
  await expect.poll(() => accepted.count()).toBe(0)
}

test.concurrent('a new account, from its invitation on', { timeout: WALK_MS_MAX }, async () => {
  const name = 'Quiet Orchard'
  const { id } = await world.system.admin('accounts', 'create', name)
  const owner = await newPerson(world, 'mouse', 'New Owner')
  const { page } = owner
  const walk = createWalk({ page, account: 'new', looks })
  await lookAtPublicPages(walk)
  await world.system.admin('people', 'invite', id, '--email', owner.email, '--role', 'owner')
  const link = linkIn(await world.mail.next(owner.email, /invit/i))
  await page.goto(link)
  await owner.heading(`Join ${name}`).waitFor()
  await walk.look('invitation')
  await acceptInvitation(owner, link, name)
  await walk.look('second factor')
  await owner.press(owner.button('Add a passkey'))
  await waitForShell(page)
  // Its dialogs are those of every account.
  for (const screen of [...pages, ...openings]) {
    await walk.visit(screen, looks)
  }
  expect(walk.problems).toEqual([])

  async function lookAtPublicPages({ look }: Walk) {
    for (const path of [
      'invitation',
      'forgot-password',
      'reset-password',
      'verify-email',
      'confirm-alerts',
      'sign-in',
    ]) {
      await page.goto(`/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await look(path === 'invitation' ? 'invitation without a link' : path)
    }
  }
})

test.concurrent('an account whose texts mean harm', { timeout: WALK_MS_MAX }, async () => {
  const { page } = await makeHostileAccount(world)
  // Texts change what is laid out, not how it is marked up.
  const walk = createWalk({
    page,
    account: 'hostile',
    looks,
    check: hostileFindings,
  })
  for (const screen of [...pages, ...openings]) await walk.visit(screen)
  expect(walk.problems).toEqual([])
})

test('no page was stopped by its policy or complained', () => {
  expect(world.complaints).toEqual([])
})
