import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * For long work in pieces, called after each: a promise to wait for when the work has held the event loop for `msMax`, so that other
 * requests run first.
 */
export function inTurns(msMax: number): () => Promise<void> | undefined {
  let beganMs = performance.now()
  return () => {
    if (performance.now() - beganMs < msMax) return undefined
    return nextTurn().then(() => {
      beganMs = performance.now()
    })
  }
}
