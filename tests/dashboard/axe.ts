import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

/** Run in the page itself: what the package does around it, for pages in frames, takes longer than the rules. */
const AXE = readFileSync(
  createRequire(createRequire(import.meta.url).resolve('@axe-core/playwright')).resolve('axe-core'),
  'utf8',
)
const COLOURS = ['color-contrast', 'link-in-text-block']

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What keeps people from using a page, each with its element. With a selector, of the first such element if there is one. */
export async function seriousFindings(
  page: Page,
  rules: 'all' | 'colours',
  within?: string,
): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE)
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'colours' && { runOnly: { type: 'rule', values: COLOURS } }),
  }
  const part = within === undefined ? 'null' : `document.querySelector(${JSON.stringify(within)})`
  const findings = await page.evaluate<readonly Finding[]>(
    `axe.run(${part} ?? document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )
  return findings
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`))
}
