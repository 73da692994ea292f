import { nextFrame } from '@shopwire/test-kit/people/actor'
import type { Page } from 'playwright-core'

const FIT_MS_MAX = 5_000

/** How wide the page is once it fits into a window of this width, or has had its time: charts and tables are drawn anew after a change. */
export async function settledWidth(page: Page, windowWidth: number): Promise<number> {
  const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
  const deadlineMs = Date.now() + FIT_MS_MAX
  while ((await width()) > windowWidth && Date.now() < deadlineMs) await nextFrame(page)
  return width()
}
