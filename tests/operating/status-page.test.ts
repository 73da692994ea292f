import { mkdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HttpServer, startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { makeTemporaryFolder, until } from '@shopwire/test-kit/servers'
import { START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seriousFindings } from '../dashboard/axe.ts'

/** The status page as a worker writes it, served by another server under a strict policy. SHOPWIRE_SHOTS=folder keeps pictures. */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const SHOTS = process.env.SHOPWIRE_SHOTS
const WIDTHS = [320, 1280]
const WRITTEN_MS_MAX = 40_000
const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'status.css': 'text/css',
  'status.json': 'application/json',
  'feed.xml': 'application/atom+xml',
}
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
const REASON = 'Moving to a new building <script>document.title = "run"</script>'

let system: System
let server: HttpServer
let browser: Browser
let folder: string
/** What the policy forbade, and every exception. */
const complaints: string[] = []

beforeAll(async () => {
  folder = await makeTemporaryFolder(tmpdir(), 'status-page')
  system = await startSystem({ admission: 'postgres' })
  await rememberDays()
  await system.startWorker({
    SHOPWIRE_STATUS_FOLDER: folder,
    SHOPWIRE_API_URL: `http://127.0.0.1:${system.ports[0]}/v1`,
    SHOPWIRE_CONTACT: 'help@example.com',
  })
  server = await startHttpServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    if (TYPES[name] === undefined) return void response.writeHead(404).end()
    readFile(join(folder, name)).then(
      (file) =>
        response.writeHead(200, { 'content-type': TYPES[name], 'content-security-policy': POLICY }).end(file),
      () => response.writeHead(404).end(),
    )
  })
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  await untilState('open')
}, START_MS_MAX)
afterAll(async () => {
  await browser?.close()
  await server?.close()
  await system?.stop()
})

test('an open store and a closed one are shown without scripts, in both themes, from 320 px on, and without the style sheet', async () => {
  const page = await openPage()
  await look(page, 'open')
  expect(await page.getByText('The store is open.').count()).toBe(1)
  expect(await page.locator('.parts dd').allTextContents()).toEqual(['works', 'works', 'works', 'works'])
  expect(await page.locator('.days li').count()).toBe(90)
  expect(await page.locator('.days li.closed').count()).toBe(1)
  expect(await page.locator('.days li.unknown').count()).toBeGreaterThan(50)

  await system.admin('store', 'close', '--reason', REASON)
  await untilState('closed')
  await page.reload()
  await look(page, 'closed')
  expect(await page.getByText(`Reason: ${REASON}`).count()).toBe(1)
  expect(await page.title()).toMatch(/^The store is closed – Status of 127\.0\.0\.1:/)

  await page.evaluate(`document.querySelector('link[rel=stylesheet]').remove()`)
  expect(await page.locator('body').innerText()).toMatch(
    /Status of 127[\s\S]*The store is closed\.[\s\S]*Written[\s\S]*Buying\s+closed[\s\S]*The last 90 days[\s\S]*closed for 2 h[\s\S]*Incidents/,
  )
  expect(complaints).toEqual([])
})

/** Three days of the past, one with a closing. */
async function rememberDays() {
  await system.query(
    `insert into shopwire.status_periods (started_at, seen_until, store, reason, impaired)
     values (now() - interval '72 hours', now() - interval '50 hours', 'open', null, '{}'),
            (date_trunc('day', now(), 'UTC') - interval '14 hours', date_trunc('day', now(), 'UTC') - interval '12 hours', 'closed', 'Moving', '{}'),
            (date_trunc('day', now(), 'UTC') - interval '12 hours', now(), 'open', null, '{webhooks}')`,
  )
}

async function untilState(state: string) {
  await until(
    async () => {
      const text = await readFile(join(folder, 'status.json'), 'utf8').catch(() => undefined)
      const status = text && (JSON.parse(text) as { store: { state: string }; parts: { buying: string } })
      return status && status.store.state === state && status.parts.buying !== 'unknown'
    },
    WRITTEN_MS_MAX,
    () => `the status page does not say that the store is ${state}`,
  )
}

async function openPage(): Promise<Page> {
  const page = await browser.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) complaints.push(message.text())
  })
  await page.goto(`http://127.0.0.1:${server.port}/index.html`)
  return page
}

async function look(page: Page, name: string) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      expect(await seriousFindings(page, 'all')).toEqual([])
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect(overflow, `${name} in ${width} px`).toBeLessThanOrEqual(0)
      if (SHOTS) {
        await mkdir(SHOTS, { recursive: true })
        await page.screenshot({
          path: join(SHOTS, `status-${name}-${colorScheme}-${width}.png`),
          fullPage: true,
        })
      }
    }
  }
}
