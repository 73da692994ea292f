import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_EVERY_MS = 20

/** Waits for a condition and gives back what it returned; `what` says at the deadline what never came. */
export async function until<Seen>(
  condition: () => Seen | Promise<Seen>,
  msMax: number,
  what: () => string,
): Promise<NonNullable<Seen>> {
  const deadline = performance.now() + msMax
  for (;;) {
    const seen = await condition()
    if (seen) return seen as NonNullable<Seen>
    if (performance.now() > deadline) throw new Error(`${what()} (waited ${msMax} ms)`)
    await sleep(LOOK_EVERY_MS)
  }
}
