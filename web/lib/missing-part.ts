/** A script or a style sheet of this page that did not load: there is no network, or a new release has replaced it. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart'
}

/** As browsers say it, and as Vite does for style sheets. */
const MISSING =
  /^(Failed to fetch dynamically imported module|error loading dynamically imported module|Importing a module script failed|Unable to preload CSS)/

/** Loads a part of the page. */
export async function loadPart<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // In words of our own: the router reloads by itself, and then waits for ever, for a message that it knows.
    if (error instanceof Error && MISSING.test(error.message))
      throw new MissingPart(`A part of the page did not load: ${error.message}`)
    throw error
  }
}

/** The page of the new release has its parts. Once for each part: one that is really missing must not reload for ever. */
export function reloadOnce({ message }: MissingPart): void {
  const key = `shopwire.reloaded ${message}`
  if (!navigator.onLine || sessionStorage.getItem(key) !== null) return
  sessionStorage.setItem(key, '1')
  window.location.reload()
}
