/** The element that holds the screen, beside the navigation. */
export const MAIN = 'main'

/** The focus goes to the screen: by the skip link, after a navigation, and when what had it is gone. */
export function focusMain(): void {
  document.getElementById(MAIN)?.focus({ preventScroll: true })
}
