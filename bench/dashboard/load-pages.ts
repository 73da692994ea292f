import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium } from 'playwright-core'
import { median, rounded, say } from '../shared/figures.ts'

const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const LOADS = 5
const COOKIE = '__Host-shopwire-session'
const PAGE_MS_MAX = 30_000
/** A new context opens a window, and Chromium draws its own controls there for about a second. Nobody opens a page that fast. */
const WINDOW_MS = 2_000
const ROWS = 'main [data-row-link]'
const CHART = 'main figure svg'

/** The pages people open, and what is on the screen once they can work with it: all of it. */
const PAGES = {
  home: { path: '/', ready: [ROWS, CHART] },
  orders: { path: '/orders', ready: [ROWS] },
  deliveries: { path: '/deliveries', ready: [ROWS, CHART] },
  statement: { path: '/balance', ready: ['main tbody tr:nth-child(10)', CHART] },
} as const

/**
 * Milliseconds from the start of the navigation until the page shows its rows and its chart and answers to the pointer, in a browser
 * that has never been here: nothing is cached. By the page's own clock; the median of a few loads, each in a context of its own. Empty
 * without Chromium or without built pages.
 */
export async function loadPages(
  origin: string,
  cookies: readonly string[],
): Promise<Partial<Record<keyof typeof PAGES, number>>> {
  const isBuilt = (await fetch(`${origin}/orders`, { headers: { accept: 'text/html' } })).status === 200
  if (!existsSync(CHROMIUM) || !isBuilt) {
    say('pages are not measured: Chromium is not installed, or "npm run web:build" has not run')
    return {}
  }
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  try {
    const figures: Partial<Record<keyof typeof PAGES, number>> = {}
    let next = 0
    for (const [name, { path, ready }] of Object.entries(PAGES)) {
      const taken: number[] = []
      for (let n = 0; n < LOADS; n += 1) {
        const cookie = cookies[next % cookies.length] as string
        next += 1
        taken.push(await loadCold(browser, origin, path, ready, cookie.slice(COOKIE.length + 1)))
      }
      figures[name as keyof typeof PAGES] = rounded(median(taken), 0)
      say(`page ${name.padEnd(39)} ${taken.map((ms) => ms.toFixed(0)).join(', ')} ms`)
    }
    return figures
  } finally {
    await browser.close()
  }
}

async function loadCold(
  browser: Browser,
  origin: string,
  path: string,
  ready: readonly string[],
  value: string,
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  try {
    await context.addCookies([
      {
        name: COOKIE,
        value,
        url: origin.replace('http:', 'https:'),
        httpOnly: true,
        secure: true,
        sameSite: 'Lax',
      },
    ])
    const page = await context.newPage()
    await page.addInitScript({ content: watch(ready) })
    await sleep(WINDOW_MS)
    await page.goto(origin + path, { waitUntil: 'commit', timeout: PAGE_MS_MAX })
    const ms = await Promise.race([page.evaluate<number>('interactive'), sleep(PAGE_MS_MAX)])
    if (ms === undefined) throw new Error(`${path} did not show ${ready.join(' and ')}`)
    return ms
  } finally {
    await context.close()
  }
}

/** In the page, because asking it from outside takes its time. Idle: the main thread has nothing to do, a click would be answered. */
const watch = (ready: readonly string[]) => `
  globalThis.interactive = new Promise((done) => {
    const watcher = new MutationObserver(() => {
      if (!${JSON.stringify(ready)}.every((selector) => document.querySelector(selector))) return
      watcher.disconnect()
      requestIdleCallback(() => done(performance.now()))
    })
    watcher.observe(document, { childList: true, subtree: true })
  })`
