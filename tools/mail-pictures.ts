import { mkdir } from 'node:fs/promises'
import { exampleMails } from '@shopwire/service/example-letters'
import { chromium } from 'playwright-core'

/** Takes a picture of each mail that the service sends, into .data/mail-pictures/. */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const FOLDER = '.data/mail-pictures'
const WIDTHS = [390, 700]

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
try {
  await mkdir(FOLDER, { recursive: true })
  const page = await browser.newPage({ javaScriptEnabled: false })
  for (const { name, html } of exampleMails()) {
    await page.setContent(html)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 100 })
        const file = `${name.replace(', ', '-')}-${colorScheme}-${width}.png`
        await page.screenshot({ path: `${FOLDER}/${file}`, fullPage: true })
      }
    }
  }
} finally {
  await browser.close()
}
