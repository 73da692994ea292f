import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { median, rounded, say } from '../figures.ts'

const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const LOADS = 5
const COOKIE = '__Host-shopwire-session'
const PAGE_MS_MAX = 30_000

/** The pages people open, and what is on the screen once they can work with it. */
const PAGES = {
  home: { path: '/', ready: 'main :text-is("Orders today")' },
  orders: { path: '/orders', ready: 'main [data-row-link]' },
  deliveries: { path: '/deliveries', ready: 'main [data-row-link]' },
  statement: { path: '/balance', ready: 'main tbody tr:nth-child(10)' },
} as const

/**
 * Milliseconds from opening the address until the page shows its rows and answers to the pointer, in a browser that has never been
 * here: nothing is cached. The median of a few loads, each in a context of its own. Empty without Chromium or without built pages.
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
  ready: string,
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
    const startedMs = performance.now()
    await page.goto(origin + path, { waitUntil: 'commit' })
    await page.locator(ready).first().waitFor({ timeout: PAGE_MS_MAX })
    // The main thread has nothing to do: a click would be answered now.
    await page.evaluate('new Promise((idle) => requestIdleCallback(idle, { timeout: 5000 }))')
    return performance.now() - startedMs
  } finally {
    await context.close()
  }
}
