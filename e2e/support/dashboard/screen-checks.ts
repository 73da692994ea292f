import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { nextFrame } from './actor.ts'

const NARROW = { width: 320, height: 720 }
const FIT_MS_MAX = 5_000
/** The themes differ in colours only. The short form leaves the second to dashboard-screens.test.ts. */
const THEMES = process.env.SHOPWIRE_E2E_SHORT === '1' ? (['dark'] as const) : (['dark', 'light'] as const)
const RULES = { dark: 'all', light: 'of colours' } as const

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
        for (const found of await seriousOf(page, RULES[colorScheme]))
          problems.push(`${name}, ${colorScheme}: ${found}`)
      }
      if (!size) return
      await page.setViewportSize(NARROW)
      const width = await settledWidth(page)
      if (width > NARROW.width) problems.push(`${name}: ${width} px wide in a window of ${NARROW.width} px`)
      await page.setViewportSize(size)
    },
  }
}

async function seriousOf(page: Page, rules: 'all' | 'of colours'): Promise<string[]> {
  // Whatever fades in is half transparent until then, and has too little contrast.
  await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))')
  const axe = new AxeBuilder({ page }).setLegacyMode()
  if (rules === 'of colours') axe.withRules(['color-contrast', 'link-in-text-block'])
  const { violations } = await axe.analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`))
}

/** Charts and tables are drawn anew for a new width. */
async function settledWidth(page: Page): Promise<number> {
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
  const deadlineMs = Date.now() + FIT_MS_MAX
  while ((await width()) > NARROW.width && Date.now() < deadlineMs) await nextFrame(page)
  return width()
}
