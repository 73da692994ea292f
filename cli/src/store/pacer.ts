import { setTimeout as sleep } from 'node:timers/promises'
import type { Output } from '../terminal/output.ts'

export interface Pacer {
  /** Watches what the answers say about the limits. */
  readonly fetch: typeof globalThis.fetch
  /** To be awaited between requests: waits while only the reserve is left. */
  breathe(): Promise<void>
}

const QUOTA_USUAL = 120
/** Below a third of the account's requests of a minute we slow down: its other servers share them with us. */
const SLOW_PART = 3
const SLOW_S = 1
/** Below a tenth we wait until there is room again. */
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
