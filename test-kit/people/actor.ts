import type { Locator, Page } from 'playwright-core'

/** A person at the dashboard: with a mouse, or with the keyboard alone. Journeys are written once and done by both. */
export interface Actor {
  readonly page: Page
  readonly hands: Hands
  /** Presses a button, a link, a tab, a menu item. */
  press(target: Locator): Promise<void>
  /** Replaces what a field holds. */
  write(field: Locator, text: string): Promise<void>
  /** Chooses a checkbox, a radio button or a switch. */
  choose(target: Locator): Promise<void>
}

export const hands = ['mouse', 'keyboard'] as const
export type Hands = (typeof hands)[number]

/** More stops than any page has. */
const STOPS_MAX = 150

export function createActor(page: Page, how: Hands): Actor {
  if (how === 'mouse') {
    return {
      page,
      hands: how,
      press: (target) => target.click(),
      write: (field, text) => field.fill(text),
      choose: (target) => target.click(),
    }
  }
  return {
    page,
    hands: how,
    async press(target) {
      await tabTo(page, target)
      await page.keyboard.press('Enter')
    },
    async write(field, text) {
      await tabTo(page, field)
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type(text)
    },
    async choose(target) {
      await tabTo(page, target)
      await page.keyboard.press('Space')
    },
  }
}

/** Tab stops only: what cannot be reached by Tab, or by an arrow key inside a group, does not exist for this person. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  const passed: string[] = []
  for (let stop = 0; stop < STOPS_MAX; stop += 1) {
    if ((await holdsFocus(target)) && (await keepsFocus(page, target))) return
    await page.keyboard.press('Tab')
    const { holds, isInGroup, focused } = await lookAtFocus(target)
    passed.push(focused)
    // Menus, tabs and radio groups are one stop; the arrow keys move inside.
    if (!holds && isInGroup) await arrowTo(page, target)
  }
  throw new Error(`${target} was not reached by Tab. The focus passed:\n${passed.slice(-40).join('\n')}`)
}

async function arrowTo(page: Page, target: Locator): Promise<void> {
  for (let n = 0; n < 20 && !(await holdsFocus(target)); n += 1) {
    await page.keyboard.press('ArrowDown')
    if (!(await holdsFocus(target))) await page.keyboard.press('ArrowRight')
  }
}

/** A dialog that has just opened moves the focus once more, to where it begins. */
async function keepsFocus(page: Page, target: Locator): Promise<boolean> {
  await nextFrame(page)
  return holdsFocus(target)
}

/** When the page has painted again. */
export const nextFrame = (page: Page): Promise<void> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')

const holdsFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === element.ownerDocument.activeElement)

/** In one question to the browser, because a journey by keyboard passes many stops. */
const lookAtFocus = (target: Locator) =>
  target.evaluate((element) => {
    const { activeElement } = element.ownerDocument
    const group = element.closest('[role=menu],[role=tablist],[role=radiogroup],[role=listbox]')
    const name = (activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? '').slice(0, 60)
    return {
      holds: element === activeElement,
      isInGroup: group?.contains(activeElement) ?? false,
      focused: activeElement ? `${activeElement.tagName} ${name}` : 'nothing',
    }
  })
