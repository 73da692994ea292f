/** Where a module gets the time from. Passed in, so that a test can stand at any instant. */
export interface Clock {
  nowMs(): number
}

export const systemClock: Clock = { nowMs: () => Date.now() }
