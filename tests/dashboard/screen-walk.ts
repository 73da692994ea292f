import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { seriousFindings } from './axe.ts'
import { settledWidth } from './settled-width.ts'

/** How a screen is looked at. */
export interface Look {
  readonly theme: 'light' | 'dark'
  readonly width: number
  /** `colours`: of a screen whose other rules were checked in the other theme. */
  readonly rules: 'all' | 'colours' | 'none'
}

export interface Screen {
  readonly name: string
  readonly path: string
  /** Opens what is meant, on the screen that has been loaded; false when there is nothing to open, unless there must be. */
  open?(page: Page, mustOpen: boolean): Promise<boolean>
}

export interface Walk {
  /** What is wrong, of all screens together. */
  readonly problems: readonly string[]
  /** By name, in the order of the visits. */
  readonly seen: readonly string[]
  /** Goes to a screen inside the application and looks at it in every way. */
  visit(screen: Screen, looks?: readonly Look[]): Promise<void>
  /** Looks at what is there now. */
  look(name: string): Promise<void>
}

export interface WalkOptions {
  readonly page: Page
  /** Of the account, for the names of pictures. */
  readonly account: string
  readonly looks: readonly Look[]
  /** Everything that can be opened is there. */
  readonly mustOpen?: boolean
  /** Looks for what else must hold on every screen. */
  check?(page: Page): Promise<readonly string[]>
}

const PICTURES = process.env.SHOPWIRE_SHOTS
const HEIGHTS = { narrow: 720, wide: 900 }
const USUAL = { width: 1440, height: HEIGHTS.wide }
const NARROW_MAX = 500
const SETTLED_MS_MAX = 15_000
/** Nothing is on the way for this long: what an answer asks for next was sent before. */
const QUIET_MS = 120
/** What a dialog covers was looked at without it. */
const TOP_LAYER = '[role=dialog][aria-modal=true]'

export function createWalk({ page, account, looks: usual, mustOpen = false, check }: WalkOptions): Walk {
  const problems: string[] = []
  const seen: string[] = []
  const settled = watchRequests(page)

  async function look(name: string, looks = usual): Promise<void> {
    seen.push(name)
    await settled()
    for (const { theme, width, rules } of looks) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: width < NARROW_MAX ? HEIGHTS.narrow : HEIGHTS.wide })
      await page.locator(`html[data-mantine-color-scheme=${theme}]`).waitFor()
      await settled()
      const said = (problem: string) =>
        problems.push(`${account}, ${name}, ${theme}, ${width} px: ${problem}`)
      const wide = await settledWidth(page, width)
      if (wide > width) said(`the page is ${wide} px wide`)
      for (const problem of (await check?.(page)) ?? []) said(problem)
      if (rules !== 'none') for (const found of await seriousFindings(page, rules, TOP_LAYER)) said(found)
      if (PICTURES) await photograph(`${account}-${name}-${width}-${theme}`.replaceAll(/[ ,]+/g, '-'))
    }
    // What is done next is done in a window where everything is visible.
    await page.setViewportSize(USUAL)
  }

  async function photograph(name: string): Promise<void> {
    await mkdir(PICTURES as string, { recursive: true })
    const isCovered = (await page.locator('[role=dialog]').count()) > 0
    const path = join(PICTURES as string, `${name}.png`)
    await page.screenshot({ path, fullPage: !isCovered, animations: 'disabled' })
  }

  return {
    problems,
    seen,
    look,
    async visit(screen, looks) {
      // As a link does: loading the application anew would take longer than everything else.
      await page.evaluate(`history.pushState({}, '', ${JSON.stringify(screen.path)})`)
      // Its requests are sent when it is drawn, which takes a moment on a busy machine.
      await page.evaluate('new Promise((drawn) => requestIdleCallback(drawn, { timeout: 2000 }))')
      await settled()
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (screen.open && !(await screen.open(page, mustOpen))) return
      await look(screen.name, looks)
      await page.keyboard.press('Escape')
    },
  }
}

/** Resolves when all requests are answered and nothing is loading or moving any more. */
function watchRequests(page: Page): () => Promise<void> {
  let open = 0
  let lastMs = performance.now()
  const isCounted = (request: Request) => new URL(request.url()).pathname !== '/api/live'
  const change = (by: 1 | -1) => (request: Request) => {
    if (!isCounted(request)) return
    open += by
    lastMs = performance.now()
  }
  page.on('request', change(1))
  page.on('requestfinished', change(-1))
  page.on('requestfailed', change(-1))
  return async () => {
    const startMs = performance.now()
    while (open > 0 || performance.now() - lastMs < QUIET_MS) {
      if (performance.now() - startMs > SETTLED_MS_MAX) throw new Error(`${page.url()} does not stop loading`)
      await page.waitForTimeout(QUIET_MS / 4)
    }
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
    // Whatever fades in is half transparent until then, and has too little contrast.
    await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))')
  }
}
