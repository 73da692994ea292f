import { setTimeout as sleep } from 'node:timers/promises'
import type { Output } from '../terminal/output.ts'

export interface Pacer {
  /** Reads the rate-limit headers of each answer. */
  readonly fetch: typeof globalThis.fetch
  /** Await between requests: waits while only the reserve is left. */
  breathe(): Promise<void>
}

const QUOTA_USUAL = 120
/** With less than a third of the account's requests left it slows down, because the account's other servers share them. */
const SLOW_PART = 3
const SLOW_S = 1
/** With less than a tenth left it waits until the window has moved on. */
const STOP_PART = 10

export function pacer(out: Output): Pacer {
  let left: { remaining: number; resetAfterS: number; quota: number } | undefined
  return {
    async fetch(input, init) {
      const response = await globalThis.fetch(input, init)
      const [, r, t] = /"req";r=(\d+);t=(\d+)/.exec(response.headers.get('ratelimit') ?? '') ?? []
      const [, quota = QUOTA_USUAL] =
        /"req";q=(\d+)/.exec(response.headers.get('ratelimit-policy') ?? '') ?? []
      left =
        r === undefined ? undefined : { remaining: Number(r), resetAfterS: Number(t), quota: Number(quota) }
      return response
    },
    async breathe() {
      if (left === undefined || left.remaining > left.quota / SLOW_PART) return
      const seconds = left.remaining > left.quota / STOP_PART ? SLOW_S : Math.max(SLOW_S, left.resetAfterS)
      left = undefined
      if (seconds > SLOW_S && process.stderr.isTTY && !out.isJson) {
        out.rawError(`\r\x1b[KWaiting ${seconds} s for the rate limit …`)
      }
      await sleep(seconds * 1000)
    },
  }
}
