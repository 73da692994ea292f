import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 40
const POLL_MS_MAX = 400

/** Polls until there is a value, or returns undefined when the time is over. */
export async function until<Thing>(
  look: () => Promise<Thing | undefined | false>,
  msMax: number,
): Promise<Thing | undefined> {
  const deadline = performance.now() + msMax
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(POLL_MS_MAX, pauseMs * 1.3)) {
    const thing = await look()
    if (thing !== undefined && thing !== false) return thing
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) return undefined
    await sleep(Math.min(pauseMs, leftMs))
  }
}
