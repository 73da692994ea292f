import { setTimeout as sleep } from 'node:timers/promises'

const SOON_MS = 120_000
const AGAIN_MS = 1_000

/** Until it no longer fails. */
export async function eventually<Result>(what: string, look: () => Promise<Result>): Promise<Result> {
  const deadlineMs = performance.now() + SOON_MS
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() > deadlineMs) throw new Error(`${what}: ${(error as Error).message}`)
      await sleep(AGAIN_MS)
    }
  }
}
