import {
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_DELAY_S_MAX,
  WEBHOOK_FIRST_DELAY_S,
  WEBHOOK_HORIZON_S,
  WEBHOOK_JITTER_PERCENT_MAX,
} from '@shopwire/contract'

/**
 * When a delivery that has failed `n` times is attempted next; undefined when it is given up. The backoff doubles from a minute
 * to an hour and counts from the end of the attempt. Jitter only ever lengthens it, and never beyond the hour.
 */
export function nextAttemptMs(
  n: number,
  finishedMs: number,
  createdMs: number,
  random: number,
): number | undefined {
  if (n >= WEBHOOK_ATTEMPTS_MAX) return undefined
  const jittered = WEBHOOK_FIRST_DELAY_S * 2 ** (n - 1) * (1 + (random * WEBHOOK_JITTER_PERCENT_MAX) / 100)
  const nextMs = finishedMs + Math.min(jittered, WEBHOOK_DELAY_S_MAX) * 1000
  return nextMs > createdMs + WEBHOOK_HORIZON_S * 1000 ? undefined : nextMs
}

/** When each attempt is made at the earliest, in seconds after the event, if none of them takes any time. */
export function earliestAttemptsS(): number[] {
  const times = [0]
  for (let n = 1; n < WEBHOOK_ATTEMPTS_MAX; n += 1) {
    const delayS = Math.min(WEBHOOK_FIRST_DELAY_S * 2 ** (n - 1), WEBHOOK_DELAY_S_MAX)
    times.push((times.at(-1) ?? 0) + delayS)
  }
  return times
}
