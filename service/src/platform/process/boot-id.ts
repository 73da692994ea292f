import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Names the present start of this machine, within which its monotonic clock goes on. Where the system does not say, of this process. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return randomUUID()
  }
}

/** Goes on for as long as the machine runs, whatever happens to its clock; the same in all of its processes. */
export const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n)
