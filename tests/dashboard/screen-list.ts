import type { Locator, Page } from 'playwright-core'
import type { Screen } from './screen-walk.ts'

/** Presses what is named, unless this account has no such thing or it cannot be pressed, and waits for what opens. */
const opens =
  (pressed: (page: Page) => Locator, opened: (page: Page) => Locator) =>
  async (page: Page, mustOpen: boolean): Promise<boolean> => {
    const target = pressed(page).first()
    // A click waits until there is something to click.
    if (!mustOpen && !((await target.isVisible()) && (await target.isEnabled()))) return false
    await target.click()
    await opened(page).first().waitFor()
    return true
  }
const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name })
const dialog = (page: Page) => page.getByRole('dialog')
const dialogBy = (name: string | RegExp) => opens(button(name), dialog)
const rowLink = (page: Page) => page.locator('[data-row-link]')
const panel = (page: Page) => page.locator('html[data-panel]')
const byMenu = (item: string) => async (page: Page, mustOpen: boolean) => {
  const menu = page.getByRole('menuitem', { name: item, exact: true })
  return (
    (await opens(button(/^Actions for /), () => page.getByRole('menu'))(page, mustOpen)) &&
    (await opens(() => menu, dialog)(page, mustOpen))
  )
}
const byViews = (item: string) => async (page: Page, mustOpen: boolean) =>
  (await opens(button('Views'), (shown) => shown.getByRole('menu'))(page, mustOpen)) &&
  opens((shown) => shown.getByRole('menuitem', { name: item }), dialog)(page, mustOpen)
const selection = (page: Page) => page.getByRole('region', { name: 'Selection' })
const selects = (opened: (page: Page) => Locator) =>
  opens((page) => page.getByRole('checkbox', { name: /^Select (ord|evt)_/ }), opened)
const byKey = (key: string) => async (page: Page) => {
  await page.keyboard.press(key)
  await dialog(page).first().waitFor()
  return true
}

/** Every screen inside the shell. */
export const pages: readonly Screen[] = [
  { name: 'home', path: '/' },
  { name: 'orders', path: '/orders' },
  { name: 'orders, no result', path: '/orders?q=nothing-is-called-this' },
  { name: 'balance', path: '/balance' },
  { name: 'catalogue', path: '/catalogue' },
  { name: 'keys', path: '/keys' },
  { name: 'webhook', path: '/webhook' },
  { name: 'deliveries', path: '/deliveries' },
  { name: 'team', path: '/team' },
  { name: 'security', path: '/security' },
  { name: 'audit', path: '/audit' },
  { name: 'settings', path: '/settings' },
]

/** What opens on them. */
export const openings: readonly Screen[] = [
  {
    name: 'order, delivered',
    path: '/orders?status=delivered',
    open: opens(rowLink, (page) => page.getByText('Charged once')),
  },
  {
    name: 'order, paid',
    path: '/orders?status=paid',
    open: opens(rowLink, (page) => page.getByText('Charged once')),
  },
  {
    name: 'order, cancelled',
    path: '/orders?status=cancelled',
    open: opens(rowLink, (page) => page.getByRole('navigation', { name: 'Breadcrumb' })),
  },
  { name: 'add funds', path: '/balance', open: dialogBy('Add funds') },
  { name: 'low-balance mail', path: '/balance', open: dialogBy(/^(Change|Turn on…)$/) },
  {
    name: 'quote',
    path: '/catalogue',
    open: async (page, mustOpen) =>
      (await opens(
        // Items that are sold out cannot be added.
        (shown) => shown.getByRole('button', { name: /^Add /, disabled: false }),
        button(/^Quote/),
      )(page, mustOpen)) && opens(button(/^Quote/), panel)(page, mustOpen),
  },
  { name: 'catalogue, grid', path: '/catalogue?view=grid' },
  { name: 'key', path: '/keys', open: opens(rowLink, panel) },
  { name: 'create key', path: '/keys', open: dialogBy('Create key') },
  { name: 'create token', path: '/keys', open: dialogBy('Create token') },
  { name: 'rename key', path: '/keys', open: byMenu('Rename…') },
  { name: 'rotate key', path: '/keys', open: byMenu('Rotate…') },
  { name: 'revoke key', path: '/keys', open: byMenu('Revoke…') },
  { name: 'change URL', path: '/webhook', open: dialogBy('Change URL…') },
  { name: 'rotate secret', path: '/webhook', open: dialogBy('Rotate secret…') },
  { name: 'event', path: '/webhook', open: opens(rowLink, panel) },
  {
    name: 'send example',
    path: '/webhook',
    open: async (page, mustOpen) =>
      (await opens(rowLink, panel)(page, mustOpen)) && dialogBy('Send this example…')(page, mustOpen),
  },
  { name: 'stop webhook', path: '/webhook', open: dialogBy('Stop webhook…') },
  { name: 'delivery, accepted', path: '/deliveries?state=accepted', open: opens(rowLink, panel) },
  { name: 'delivery, failed', path: '/deliveries?state=failed', open: opens(rowLink, panel) },
  { name: 'orders, selected', path: '/orders', open: selects(selection) },
  {
    name: 'resend several',
    path: '/deliveries',
    open: async (page, mustOpen) =>
      (await selects(selection)(page, mustOpen)) && dialogBy(/^Resend \d+ events?…$/)(page, mustOpen),
  },
  {
    name: 'views',
    path: '/orders?status=paid',
    open: opens(button('Views'), (page) => page.getByRole('menu')),
  },
  { name: 'save view', path: '/orders?status=paid', open: byViews('Save these filters…') },
  { name: 'recover', path: '/deliveries', open: dialogBy('Recover failed…') },
  { name: 'invite', path: '/team', open: dialogBy('Invite…') },
  { name: 'who gets mail', path: '/team', open: dialogBy(/^Change who gets/) },
  { name: 'change role', path: '/team', open: byMenu('Change role…') },
  { name: 'new recovery codes', path: '/security', open: dialogBy('New codes…') },
  { name: 'change password', path: '/security', open: dialogBy('Change your password') },
  { name: 'sign out everywhere', path: '/security', open: dialogBy('Sign out everywhere…') },
  { name: 'audit row', path: '/audit', open: opens(rowLink, panel) },
  { name: 'palette', path: '/settings', open: byKey('ControlOrMeta+k') },
  { name: 'shortcuts', path: '/settings', open: byKey('?') },
  {
    name: 'accounts',
    path: '/settings',
    open: opens(button(/Switch account$/), (page) => page.getByRole('menu')),
  },
  { name: 'nothing here', path: '/nowhere' },
]
