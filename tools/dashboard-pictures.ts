import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'

/**
 * Takes the pictures of the dashboard in docs/images/ from a store that "npm run dev -- --reset" has just made, as its owner. The
 * people, links and keys in it are made up; links are masked and secrets are not shown.
 */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const START = process.argv[2] ?? 'http://localhost:8085'
const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url))
const SIZE = { width: 1440, height: 900 }
const BYTES_MAX = 150_000
/** From the best that fits. */
const QUALITIES = [0.9, 0.85, 0.8, 0.7, 0.6, 0.5]
const SETTLE_MS = 1_500

interface Picture {
  readonly name: string
  readonly theme: 'light' | 'dark'
  readonly path: string
  open?(page: Page): Promise<void>
}

const firstRow = (page: Page) => page.locator('[data-row-link]').first().click()
const pictures: readonly Picture[] = [
  { name: 'dashboard-home-light', theme: 'light', path: '/' },
  { name: 'dashboard-home-dark', theme: 'dark', path: '/' },
  { name: 'dashboard-balance-light', theme: 'light', path: '/balance' },
  { name: 'dashboard-keys-dark', theme: 'dark', path: '/keys' },
  { name: 'dashboard-order-dark', theme: 'dark', path: '/orders?status=delivered', open: firstRow },
  { name: 'dashboard-delivery-light', theme: 'light', path: '/deliveries?state=failed', open: firstRow },
]

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({
    viewport: SIZE,
    deviceScaleFactor: 1.5,
    locale: 'en-US',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  })
  await page.goto(START)
  await page.locator('button[value="owner@shopwire.localhost"]').click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  const { origin } = new URL(page.url())
  for (const picture of pictures) await take(page, origin, picture)
} finally {
  await browser.close()
}

async function take(page: Page, origin: string, { name, theme, path, open }: Picture): Promise<void> {
  await page.emulateMedia({ colorScheme: theme })
  await page.goto(origin + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForTimeout(SETTLE_MS)
  await open?.(page)
  // Nothing is marked because the pointer happens to be there.
  await page.mouse.move(SIZE.width - 1, SIZE.height - 1)
  await page.waitForTimeout(SETTLE_MS)
  const webp = await toWebp(await page.screenshot({ animations: 'disabled' }))
  await writeFile(`${FOLDER}${name}.webp`, webp)
  process.stdout.write(`${name}.webp ${Math.round(webp.length / 1000)} kB\n`)
}

async function toWebp(png: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  try {
    for (const quality of QUALITIES) {
      const url = await page.evaluate<string>(`(async () => {
        const image = new Image()
        image.src = 'data:image/png;base64,${png.toString('base64')}'
        await image.decode()
        const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
        canvas.getContext('2d').drawImage(image, 0, 0)
        return canvas.toDataURL('image/webp', ${quality})
      })()`)
      const webp = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
      if (webp.length <= BYTES_MAX) return webp
    }
    throw new Error(`no quality makes the picture smaller than ${BYTES_MAX} bytes`)
  } finally {
    await page.close()
  }
}
