import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Person, waitForShell } from '@shopwire/test-kit/people/person'
import { openWorld, type World } from '@shopwire/test-kit/people/world'
import { makeNetworkNamespace, type NetworkNamespace } from '@shopwire/test-kit/proxies/network-namespace'
import { START_MS_MAX } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeDemoStore, signInAs } from './demo-store.ts'

/** What a page says and does when its network is cut, and when a release replaces its files while it is open. */
const WEB = fileURLToPath(new URL('../../web/dist/dashboard', import.meta.url))
const TEXT = ['.html', '.js', '.css', '.json']

let network: NetworkNamespace
let world: World
let owner: Person
let nextRelease: string
beforeAll(async () => {
  network = await makeNetworkNamespace(33)
  nextRelease = await anotherRelease()
  let people: Awaited<ReturnType<typeof makeDemoStore>> | undefined
  world = await openWorld({
    network,
    settings: {
      SHOPWIRE_BANK_DETAILS: 'Beneficiary=Example Ltd; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22',
    },
    async prepare(system) {
      people = await makeDemoStore(system)
    },
  })
  if (!people) throw new Error('the demo was not made')
  owner = await signInAs(world, people, 'owner')
}, START_MS_MAX)
afterAll(async () => {
  await world?.stop()
  await network?.remove()
  await rm(nextRelease, { recursive: true, force: true })
})

const offline = () => owner.page.getByText('This device is offline.')

async function whileCut(work: () => Promise<void>): Promise<void> {
  await network.pull()
  try {
    await offline().waitFor()
    await work()
  } finally {
    await network.plugIn()
  }
  await offline().waitFor({ state: 'detached' })
}

test('what is pressed without a network fails at once, and is not sent when there is one again', async () => {
  const { page, press, write, button } = owner
  await page.goto('/settings')
  const before = await page.getByLabel(/^Your name/).inputValue()
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
  await whileCut(async () => {
    await write(page.getByLabel(/^Your name/), 'Renamed Offline')
    await press(button('Save name').last())
    await page.getByText(/nothing was sent/).waitFor()
  })
  // The page reads again by itself; by then anything kept for later would have been sent too.
  await page.goto('/orders')
  await page.getByText('Live', { exact: true }).first().waitFor()
  expect(sent).toEqual([])
  await page.goto('/settings')
  expect(await page.getByLabel(/^Your name/).inputValue()).toBe(before)
})

test('rows of the filter before are not shown for another one that could not be read', async () => {
  const { page } = owner
  await page.goto('/orders')
  const rows = page.getByRole('row').filter({ has: page.locator('[data-row-link]') })
  await rows.first().waitFor()
  await whileCut(async () => {
    await page.getByRole('tab', { name: /^Cancelled/ }).click()
    await page.getByText('Orders did not load').waitFor()
    expect(await rows.count()).toBe(0)
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0)
  })
  await expect
    .poll(async () => {
      const shown = await rows.allTextContents()
      return shown.length > 0 && shown.every((row) => row.includes('Cancelled'))
    })
    .toBe(true)
})

test('after a switch of the account no row of the one before is on the screen, not even while the next ones load', async () => {
  const { page, press } = owner
  await page.goto('/orders')
  const rows = page.locator('[data-row]')
  await rows.first().waitFor()
  const ids = () => rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row')))
  const before = new Set(await ids())
  // Each change of the page from here on is looked at.
  await page.evaluate(`{
    window.seenRows = []
    new MutationObserver(() => {
      const name = document.querySelector('[aria-label$="Switch account"]')?.textContent ?? ''
      for (const row of document.querySelectorAll('[data-row]')) seenRows.push(name + ' ' + row.dataset.row)
    }).observe(document.body, { childList: true, subtree: true })
  }`)
  await press(page.getByRole('button', { name: /Switch account$/ }))
  await press(page.getByRole('menuitem', { name: /Kestrel Community/ }))
  await page.getByRole('button', { name: /^Kestrel Community/ }).waitFor()
  await expect.poll(async () => (await ids()).some((id) => !before.has(id))).toBe(true)
  const seen = await page.evaluate<string[]>('seenRows')
  const mixed = seen.filter((one) => one.startsWith('Kestrel') && before.has(one.split(' ').at(-1) ?? ''))
  expect(mixed).toEqual([])
  await press(page.getByRole('button', { name: /Switch account$/ }))
  await press(page.getByRole('menuitem', { name: /Lantern Games/ }))
  await page.getByRole('button', { name: /^Lantern Games/ }).waitFor()
})

test('failures of nine days ago are sent again in two clicks', async () => {
  const { page, press, button } = owner
  await page.goto('/deliveries')
  await press(button('Recover failed…'))
  const confirm = page.getByRole('dialog').getByRole('button', { name: /^Send \d+|^Recover \d+/ })
  await expect.poll(() => confirm.isEnabled()).toBe(true)
  const answered = page.waitForResponse((response) => response.url().endsWith('/recover'))
  await press(confirm)
  const { sent } = (await (await answered).json()) as { sent: number }
  expect(sent).toBeGreaterThan(0)
})

test('after a release an open page gets the new one by itself, once, where it needs a part that is gone', async () => {
  const { page } = owner
  await page.goto('/orders')
  await page.getByRole('row').first().waitFor()
  const released = await world.system.startDashboard({
    SHOPWIRE_DASHBOARD_ORIGIN: world.origin,
    SHOPWIRE_WEB_FOLDER: nextRelease,
  })
  world.forwardTo(released.port)
  let loads = 0
  page.on('load', () => {
    loads += 1
  })
  await page.getByRole('link', { name: 'Audit log', exact: true }).click()
  await owner.heading('Audit log').waitFor()
  await waitForShell(page)
  expect(new URL(page.url()).pathname).toBe('/audit')
  expect(loads).toBe(1)
  await page.getByRole('link', { name: 'Team', exact: true }).click()
  await owner.heading('Team').waitFor()
  expect(loads).toBe(1)
})

/** The same application with other names for its files, as the next release has them. */
async function anotherRelease(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-release-'))
  await cp(WEB, folder, { recursive: true, filter: (path) => !/\.(br|gz|map)$/.test(path) })
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  )
  const hashes = new Set(files.flatMap(({ name }) => /-([\w-]{8})\.(?:js|css)$/.exec(name)?.[1] ?? []))
  const renamed = (text: string) =>
    [...hashes].reduce((all, hash) => all.replaceAll(hash, [...hash].reverse().join('')), text)
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name)
    if (TEXT.includes(extname(name))) await writeFile(path, renamed(await readFile(path, 'utf8')))
    if (renamed(name) !== name) await rename(path, join(parentPath, renamed(name)))
  }
  return folder
}
