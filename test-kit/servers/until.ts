import { setTimeout as sleep } from 'node:timers/promises'
import { POLL_EVERY_MS } from './limits.ts'

/**
 * Waits for a condition and returns its value. The message is a function so that it can describe the state at the
 * deadline, not at the start.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  msMax: number,
  message: () => string,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + msMax
  for (;;) {
    const seen = await condition()
    if (seen) return seen as NonNullable<T>
    if (performance.now() > deadline) throw new Error(`${message()} (waited ${msMax} ms)`)
    await sleep(POLL_EVERY_MS)
  }
}
