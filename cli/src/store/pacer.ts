import { setTimeout as sleep } from 'node:timers/promises'
import type { Output } from '../terminal/output.ts'

export interface Pacer {
  /** Watches what the answers say about the limits. */
  readonly fetch: typeof globalThis.fetch
  /** To be awaited between requests: waits while only the reserve is left. */
  breathe(): Promise<void>
}

/** What stays for the account's other servers, which share its 120 requests a minute with us. */
const RESERVE = 40

export function pacer(out: Output): Pacer {
  let left: { remaining: number; resetAfterS: number } | undefined
  return {
    async fetch(input, init) {
      const response = await globalThis.fetch(input, init)
      const [, r, t] = /"req";r=(\d+);t=(\d+)/.exec(response.headers.get('ratelimit') ?? '') ?? []
      left = r === undefined ? undefined : { remaining: Number(r), resetAfterS: Number(t) }
      return response
    },
    async breathe() {
      if (left === undefined || left.remaining > RESERVE) return
      const seconds = Math.max(1, left.resetAfterS)
      left = undefined
      if (process.stderr.isTTY && !out.isJson)
        out.rawError(`\r\x1b[KWaiting ${seconds} s for the rate limit …`)
      await sleep(seconds * 1000)
    },
  }
}
