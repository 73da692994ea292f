import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AxeBuilder } from '@axe-core/playwright'
import { requestHeaders } from '@shopwire/contract'
import { signRequest } from '@shopwire/contract/signing'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { Shopwire } from '@shopwire/sdk'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** The emulator's page in a browser, under its own policy. SHOPWIRE_SHOTS=folder keeps pictures. */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const SHOTS = process.env.SHOPWIRE_SHOTS
const THEMES = ['light', 'dark'] as const
const WAIT_MS_MAX = 5_000
/** Runs when it is taken for markup. */
const MARKUP = '<img src=x onerror="document.title=\'run\'"><script>document.title="run"</script>'

let emulator: Emulator
let browser: Browser
let shop: Shopwire
let page: Page
/** What the policy forbade, and every exception. */
const complaints: string[] = []

beforeAll(async () => {
  emulator = await startEmulator()
  await emulator.control('POST', '/webhook', { url: `${emulator.url}/_emulator/inbox` })
  shop = new Shopwire({ baseUrl: emulator.baseUrl, keyId: emulator.key.id, secret: emulator.key.secret })
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  page.setDefaultTimeout(WAIT_MS_MAX)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) complaints.push(message.text())
  })
})

afterAll(async () => {
  await browser?.close()
  await emulator?.stop()
})

test('the empty page shows a command that works when pasted, and does not show the secret', async () => {
  await open('')
  await page.getByRole('heading', { name: 'No request yet' }).waitFor()
  expect(await page.locator('.snippet code').textContent()).toContain(emulator.baseUrl)
  expect(await page.locator('body').textContent()).not.toContain(emulator.key.secret)
  await page.getByRole('button', { name: 'Show the secret' }).click()
  expect(await page.locator('#facts').textContent()).toContain(emulator.key.secret)

  await page.getByRole('button', { name: 'Copy the code' }).click()
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
  const script = await page.evaluate<string>('navigator.clipboard.readText()')
  const { stdout } = await promisify(execFile)('bash', ['-c', script])
  expect(JSON.parse(stdout)).toEqual(await shop.ping())
})

test('a good call, a wrong signature and an order appear without reloading, and the signature mistake is named', async () => {
  await open('')
  await shop.ping()
  await row('GET /v1/ping').waitFor()
  await send('GET', '/v1/balance', '/balance')
  const wrong = row('The path was signed without /v1')
  await wrong.waitFor()
  await buy('page-order-0001')
  await row('POST /v1/orders').waitFor()
  await buy('page-order-0001')
  await row('attempt 2 of this key').waitFor()

  await wrong.getByRole('link').click()
  const box = page.locator('.mistake')
  expect(await box.getByRole('heading').textContent()).toBe('The path was signed without /v1.')
  expect(await box.textContent()).toContain('Sign the whole path, /v1 included.')
  const path = page.locator('.canonical tr', { hasText: 'Path' })
  expect(await path.locator('td').allTextContents()).toEqual(['/v1/balance↵', '/balance↵'])

  await page.getByRole('link', { name: /^Orders/ }).click()
  await page.locator('#list tbody tr').first().click()
  await page.locator('#detail').getByRole('link', { name: 'order.delivered' }).click()
  const body = page.locator('#detail pre').last()
  await body.getByRole('button', { name: 'Show the gift link' }).waitFor()
  expect(await body.textContent()).not.toContain('https://')
  await body.getByRole('button').click()
  expect(await body.textContent()).toContain('https://')
})

test('a refused request shows the most specific explanation available', async () => {
  const explained = async (headers: Record<string, string>, title: string) => {
    await fetch(`${emulator.baseUrl}/ping`, { headers })
    await open('')
    await page.locator('#list tbody a.row').first().click()
    await page.getByRole('heading', { name: title }).waitFor()
  }
  const right = signedHeaders('GET', '/v1/ping')
  const key = { [requestHeaders.key]: 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y' }
  const timestamp = { [requestHeaders.timestamp]: '1700000000' }
  await explained({}, 'The header X-Api-Key is missing.')
  await explained(
    { ...right, [requestHeaders.nonce]: 'x' },
    'The header X-Api-Nonce does not have the required format.',
  )
  await explained({ ...right, ...key }, 'No account here has this key.')
  await explained({ ...right, ...timestamp }, "behind this machine's clock.")
  await explained(
    { ...right, [requestHeaders.signature]: 'ab'.repeat(32) },
    'The signature is wrong, but not by a known mistake.',
  )
  await fetch(`${emulator.baseUrl}/ping`, { headers: right })
  await explained(right, 'This nonce was used before.')
})

test('HTML in a request is shown as text and never executed', async () => {
  const body = JSON.stringify({ note: MARKUP })
  await send('POST', '/v1/quote', '/v1/quote', body)
  await send('GET', `/v1/${encodeURI(MARKUP)}`, `/v1/${encodeURI(MARKUP)}`)
  await open('?q=img src=x')
  await row('POST /v1/quote').getByRole('link').click()
  await page.locator('#detail pre', { hasText: '<img src=x' }).waitFor()
  expect(await page.locator('#detail img, #detail script, #list img').count()).toBe(0)
  expect(await page.title()).toBe('Shopwire emulator')
})

test('rows do not move under the pointer: new ones are held behind a button', async () => {
  await open('')
  await page.locator('#list tbody tr').first().hover()
  const before = await page.locator('#list tbody tr').count()
  await shop.ping()
  await page.getByRole('button', { name: '1 new' }).waitFor()
  expect(await page.locator('#list tbody tr').count()).toBe(before)
  await page.getByRole('button', { name: '1 new' }).click()
  expect(await page.locator('#list tbody tr').count()).toBe(before + 1)
})

test('the page works with the keyboard alone, and the URL names the open request', async () => {
  await open('')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.locator('#detail-title:focus').waitFor()
  expect(page.url()).toMatch(/\?open=\d+$/)
  await page.reload()
  await page.locator('.connection.live').waitFor()
  await page.locator('#detail-title .mono').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('tbody a.row:focus').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('balance')
  await expect.poll(() => page.locator('#list tbody tr').count()).toBe(1)
  expect(page.url()).toContain('q=balance')
  await page.keyboard.press('Escape')
  await page.locator('h1').click()
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.keyboard.press('2')
  await page.locator('h2', { hasText: 'Orders' }).waitFor()
  // Sooner after the list of keys than a person can be, before the browser has taken the focus away from what was in it.
  await page.evaluate(`{
    const help = document.querySelector('#help')
    help.showModal()
    help.close()
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '3', bubbles: true }))
  }`)
  await page.locator('h2', { hasText: 'Deliveries' }).waitFor()
})

test('every fault can be armed and disarmed from the page', async () => {
  await open('?view=faults')
  const names = await page.locator('.fault h3').allTextContents()
  for (const name of names) {
    await page.getByRole('button', { name: `Arm ${name}`, exact: true }).click()
    await page.locator('.fault.on', { hasText: name }).waitFor()
  }
  const { faults } = await emulator.control<{ faults: { armed: boolean }[] }>('GET', '/faults')
  expect(faults.filter(({ armed }) => armed).length).toBe(names.length)
  await page.locator('#list').getByRole('button', { name: 'Disarm all' }).click()
  await expect.poll(() => page.locator('.fault.on').count()).toBe(0)
})

test('a paid order can be delivered manually, and the balance can be set', async () => {
  await emulator.arm({ name: 'slow_fulfilment', ms: 600_000 })
  const { id } = await buy('page-order-0002')
  await open(`?view=orders&open=${id}`)
  await page.locator('#detail').getByRole('button', { name: 'Deliver' }).click()
  await page.locator('#detail .badge', { hasText: 'delivered' }).waitFor()
  await page.getByRole('button', { name: 'Set the balance' }).click()
  await page.getByLabel('Balance in dollars').fill('12.34')
  await page.keyboard.press('Enter')
  await page.locator('#facts', { hasText: '$12.34' }).waitFor()
  expect((await shop.balance()).balance_cents).toBe(1234)
})

test('the page has no accessibility violation and fits a small screen, in either theme', async () => {
  const { orders } = await emulator.control<{ orders: { id: string }[] }>('GET', '/orders')
  await open('')
  await row('The path was signed without /v1').getByRole('link').click()
  const views = [new URL(page.url()).search, `?view=orders&open=${orders[0]?.id}`, '?view=faults']
  await emulator.arm({ name: 'slow_answer', times: 0 })
  for (const [place, view] of views.entries()) {
    await page.emulateMedia({ colorScheme: 'light' })
    await open(view)
    await page.locator('#armed .badge').waitFor()
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme })
      for (const width of [400, 1280]) {
        await page.setViewportSize({ width, height: 900 })
        await shoot(`${place}-${width}-${theme}`)
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        expect(overflow, `${view} at ${width}`).toBeLessThanOrEqual(0)
      }
      // A theme is colours and nothing else: what the first one showed of names and sizes is true of the other.
      const rules =
        theme === THEMES[0]
          ? { rules: { 'target-size': { enabled: true } } }
          : { runOnly: ['color-contrast'] }
      const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).options(rules).analyze()
      expect(
        violations.map(
          ({ id, nodes }) => `${view}, ${theme}: ${id} ${nodes.map(({ html }) => html).join(' ')}`,
        ),
      ).toEqual([])
    }
  }
})

test('a lost connection is shown, and the page reconnects without a reload', async () => {
  await open('')
  const port = Number(new URL(emulator.url).port)
  await emulator.stop()
  await page.locator('.connection.lost').waitFor()
  emulator = await startEmulator({ port })
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.locator('.connection.live').waitFor()
  await page.getByRole('heading', { name: 'No request yet' }).waitFor()
})

test('no Content-Security-Policy violation and no script error occurred in the tests above', () => {
  expect(complaints).toEqual([])
})

async function open(search: string): Promise<void> {
  await page.goto(`${emulator.url}/${search}`)
  await page.locator('.connection.live').waitFor()
}

function row(text: string) {
  return page.locator('#list tbody tr', { hasText: text }).first()
}

async function buy(idempotencyKey: string) {
  const { items } = await shop.catalogue.list({ limit: 50 })
  const item = items.find(({ sellable }) => sellable)
  if (!item) throw new Error('the emulator sells nothing')
  return shop.orders.create({
    items: [{ id: item.id, qty: 1, expected_price_cents: item.price_cents }],
    idempotencyKey,
  })
}

async function send(method: string, target: string, signed: string, body = ''): Promise<void> {
  const headers = signedHeaders(method, signed, body)
  await fetch(emulator.url + target, { method, headers, ...(body !== '' && { body }) })
}

function signedHeaders(method: string, target: string, body = ''): Record<string, string> {
  const nonce = randomBytes(16).toString('hex')
  const timestamp = String(Math.floor(Date.now() / 1000))
  const parts = { method, target, timestamp, nonce, body: Buffer.from(body) }
  return {
    [requestHeaders.key]: emulator.key.id,
    [requestHeaders.timestamp]: timestamp,
    [requestHeaders.nonce]: nonce,
    [requestHeaders.signature]: signRequest(emulator.key.secret, parts),
  }
}

async function shoot(name: string) {
  if (!SHOTS) return
  await mkdir(SHOTS, { recursive: true })
  await page.screenshot({ path: join(SHOTS, `emulator-${name}.png`), fullPage: true, animations: 'disabled' })
}
