import type { Page } from 'playwright-core'
import { seriousFindings } from './axe.ts'
import { settledWidth } from './settled-width.ts'

const NARROW = { width: 320, height: 720 }
/** The themes differ in colours only. The short form leaves the second to dashboard-screens.test.ts. */
const THEMES = process.env.SHOPWIRE_E2E_SHORT === '1' ? (['dark'] as const) : (['dark', 'light'] as const)
const RULES = { dark: 'all', light: 'colours' } as const

/** Looks at each screen once: what it is for people who cannot see it, in both themes, and whether it fits into a narrow window. */
export interface ScreenChecks {
  check(page: Page, name: string): Promise<void>
  /** By name, in the order of the visits. */
  readonly checked: readonly string[]
  /** What is wrong, of all screens together: a journey goes on. */
  readonly problems: readonly string[]
}

export function createScreenChecks(): ScreenChecks {
  const checked: string[] = []
  const problems: string[] = []
  return {
    checked,
    problems,
    async check(page, name) {
      if (checked.includes(name)) return
      checked.push(name)
      const size = page.viewportSize()
      for (const colorScheme of THEMES) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
        // Whatever fades in is half transparent until then, and has too little contrast.
        await page.evaluate(
          'Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))',
        )
        for (const found of await seriousFindings(page, RULES[colorScheme]))
          problems.push(`${name}, ${colorScheme}: ${found}`)
      }
      if (!size) return
      await page.setViewportSize(NARROW)
      const width = await settledWidth(page, NARROW.width)
      if (width > NARROW.width) problems.push(`${name}: ${width} px wide in a window of ${NARROW.width} px`)
      await page.setViewportSize(size)
    },
  }
}
