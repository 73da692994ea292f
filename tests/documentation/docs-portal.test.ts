import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AxeBuilder } from '@axe-core/playwright'
import { ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { startSystem } from '@shopwire/test-kit/systems'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveSite } from './static-site.ts'

/** The portal as it is built, in a browser, under the policy that docs/self-hosting/README.md gives. SHOPWIRE_SHOTS=folder keeps pictures. */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const SITE = join(ROOT, 'docs/.site')
const SHOTS = process.env.SHOPWIRE_SHOTS
const BUILD_MS_MAX = 120_000
const THEMES = ['light', 'dark'] as const
const MAIN_PAGES = [
  '',
  'start/five-minutes',
  'start/concepts',
  'guides/sign-a-request',
  'guides/buy-exactly-once',
  'guides/receive-webhooks',
  'reference/endpoints',
  'reference/errors',
  'operating',
]

let browser: Browser
let server: Server
let base: string
let policy: string
/** What a page asked of anybody else, or the policy forbade. */
const complaints: string[] = []

beforeAll(async () => {
  await promisify(execFile)('npm', ['run', '--silent', 'docs:build'], { cwd: ROOT })
  const hosting = await readFile(join(ROOT, 'docs/self-hosting/README.md'), 'utf8')
  policy = /Content-Security-Policy "([^"]+)"/.exec(hosting)?.[1] ?? ''
  ;({ server, base } = await serveSite(SITE, policy))
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}, BUILD_MS_MAX)

afterAll(async () => {
  await browser?.close()
  server?.close()
})

test('the service serves the portal with the documented Content-Security-Policy', async ({
  onTestFinished,
}) => {
  const system = await startSystem({ admission: 'postgres', settings: { SHOPWIRE_DOCS_FOLDER: SITE } })
  onTestFinished(() => system.stop())
  const served = `http://127.0.0.1:${system.ports[0]}`
  const home = await fetch(`${served}/docs/`)
  expect(home.headers.get('content-security-policy')).toBe(policy)
  const twin = await fetch(`${served}/docs/guides/keys-and-tokens.md`)
  expect(twin.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
  const page = await (await newContext('light', served)).newPage()
  await page.goto(`${served}/docs/start/five-minutes`)
  await page.locator('h1').waitFor()
  await page.goto(`${served}/docs/api/`)
  await page.getByText('/orders').first().waitFor({ timeout: 20_000 })
  await page.context().close()
})

test('search finds a page and requests nothing from another host', async () => {
  const page = await open('')
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('idempotency conflict')
  const first = page.locator('#localsearch-list a').first()
  await first.waitFor()
  expect(await first.getAttribute('href')).toContain('reference/errors#idempotency_conflict')
  await page.context().close()
})

test('the theme can be switched between dark and light and is kept after a reload', async () => {
  const page = await open('start/concepts', 'light')
  const isDark = () => page.evaluate<boolean>('document.documentElement.classList.contains("dark")')
  const ground = () =>
    page.evaluate<string>('getComputedStyle(document.querySelector(".diagram .d-info")).fill')
  expect(await isDark()).toBe(false)
  const before = await ground()
  await page.locator('.VPNavBar .VPSwitchAppearance').first().click()
  expect(await isDark()).toBe(true)
  expect(await ground()).not.toBe(before)
  await page.reload()
  expect(await isDark()).toBe(true)
  await page.context().close()
})

test('the playground computes the signatures of the test vectors', async () => {
  const { cases } = JSON.parse(
    await readFile(join(ROOT, 'contract/vectors/request-signing.json'), 'utf8'),
  ) as {
    cases: Record<string, string>[]
  }
  const page = await open('guides/sign-a-request')
  for (const name of ['post-order', 'query-percent-encoding-kept', 'body-emoji', 'secret-non-ascii']) {
    const one = cases.find((vector) => vector.name === name) ?? {}
    for (const field of ['secret', 'target', 'timestamp', 'nonce'])
      await page.locator(`.playground [name=${field}]`).fill(one[field] ?? '')
    await page.locator('.playground [name=method]').selectOption(one.method ?? '')
    await page.locator('.playground [name=body]').fill(one.body_utf8 ?? '')
    await page
      .locator('.playground .signature', { hasText: one.signature ?? 'none' })
      .waitFor({ timeout: 5_000 })
    expect(await page.locator('.playground .canonical').textContent()).toBe(one.canonical)
  }
  await page.context().close()
})

test('a code language chosen on one page is selected on the next page', async () => {
  const page = await open('guides/sign-a-request')
  await page.locator('.vp-code-group .tabs label', { hasText: 'Python' }).click()
  await page.goto(`${base}guides/receive-webhooks`)
  await page
    .locator('.vp-code-group .blocks .active', { hasText: 'compare_digest' })
    .waitFor({ timeout: 5_000 })
  await page.context().close()
})

test('every page is also served as Markdown, and every page named in llms.txt exists', async () => {
  const names = await readdir(SITE, { recursive: true })
  const html = names.filter((name) => name.endsWith('.html') && !/^(404|api\/index)\.html$/.test(name))
  expect(html.length).toBeGreaterThan(50)
  const lonely = html.filter((name) => !names.includes(name.replace(/html$/, 'md')))
  expect(lonely).toEqual([])
  const listed = [...(await readFile(join(SITE, 'llms.txt'), 'utf8')).matchAll(/\]\(\/docs\/([^)]+)\)/g)]
  expect(listed.length).toBeGreaterThan(40)
  for (const [, path = ''] of listed) expect(names).toContain(path)
})

test('no link or anchor in the built site is dead, in HTML and in Markdown', async () => {
  const names = new Set(await readdir(SITE, { recursive: true }))
  const texts = new Map<string, string>()
  for (const name of names)
    if (/\.(html|md)$/.test(name)) texts.set(name, await readFile(join(SITE, name), 'utf8'))
  const dead: string[] = []
  let checked = 0
  for (const [name, text] of texts) {
    const targets = name.endsWith('.html')
      ? [...text.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, target = '']) =>
          target.replaceAll('&amp;', '&'),
        )
      : [
          ...text
            .replace(/^```[\s\S]*?^```/gm, '')
            .replace(/`[^`\n]*`/g, '')
            .matchAll(/\]\(([^)\s]+)\)/g),
        ].map(([, target = '']) => target)
    for (const target of targets) {
      if (/^(https?:|mailto:|data:)/.test(target)) continue
      checked += 1
      const { pathname, hash } = new URL(target, `http://site/docs/${name.replace(/index\.html$/, '')}`)
      const path = decodeURIComponent(pathname).replace(/^\/docs\//, '')
      const found = [path, `${path}.html`, join(path, 'index.html')].find(
        (file) => names.has(file) && !/^$|\/$/.test(file),
      )
      const isAnchored =
        hash === '' ||
        !found?.endsWith('.html') ||
        texts.get(found)?.includes(` id="${decodeURIComponent(hash.slice(1))}"`)
      if (!found || !isAnchored) dead.push(`${name}: ${target}`)
    }
  }
  expect(dead).toEqual([])
  expect(checked).toBeGreaterThan(3_000)
})

test('the API page shows the OpenAPI document, requests nothing from another host, and has no button that sends a request', async () => {
  const context = await newContext('light')
  const page = await context.newPage()
  await page.goto(`${base}api/`)
  await page.getByText('/orders').first().waitFor({ timeout: 20_000 })
  expect(await page.getByText(/^Test Request$/i).count()).toBe(0)
  await shoot(page, 'api', 'light', 1280)
  await context.close()
})

test('main pages have no serious accessibility violation in either theme and do not scroll sideways', async () => {
  const page = await (await newContext('light')).newPage()
  for (const path of MAIN_PAGES) {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(base + path)
    await page.locator('.vp-doc h1').waitFor()
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme })
      await page.locator(theme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 })
        await shoot(page, path || 'index', theme, width)
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        expect(overflow, `${path} at ${width}`).toBeLessThanOrEqual(0)
      }
      const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze()
      const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(
        grave.map(({ id, nodes }) => `${path}, ${theme}: ${id} ${nodes.map(({ html }) => html).join(' ')}`),
      ).toEqual([])
    }
  }
  await page.context().close()
})

test('no page requested anything from another host or violated its Content-Security-Policy', () => {
  expect(complaints).toEqual([])
})

async function newContext(
  theme: (typeof THEMES)[number],
  host = new URL(base).origin,
): Promise<BrowserContext> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width: 1280, height: 900 } })
  context.on('request', (request) => {
    if (!request.url().startsWith(`${host}/`) && !/^(data|blob):/.test(request.url()))
      complaints.push(`asked for ${request.url()}`)
  })
  context.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) complaints.push(message.text())
  })
  return context
}

async function open(path: string, theme: (typeof THEMES)[number] = 'light'): Promise<Page> {
  const page = await (await newContext(theme)).newPage()
  await page.goto(base + path)
  await page.waitForLoadState('networkidle')
  return page
}

async function shoot(page: Page, name: string, theme: string, width: number) {
  if (!SHOTS) return
  await mkdir(SHOTS, { recursive: true })
  await page.screenshot({
    path: join(SHOTS, `${name.replaceAll('/', '-')}-${width}-${theme}.png`),
    fullPage: true,
    animations: 'disabled',
  })
}
