/**
 * Loaded into a program before its own code: what it does once a minute or once an hour it does twice a second, so that a test sees what it
 * would do without waiting for it.
 */
const PERIODS_MS: readonly unknown[] = [60_000, 3_600_000]
const HURRIED_MS = 500
const realTimeout = globalThis.setTimeout
globalThis.setTimeout = Object.assign(
  (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
    realTimeout(run, PERIODS_MS.includes(ms) ? HURRIED_MS : ms, ...args),
  realTimeout,
) as typeof setTimeout
