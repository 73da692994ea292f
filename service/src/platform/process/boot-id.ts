import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Identifies the present start of this machine, since which its monotonic clock counts. Where the system has no such id, it
 * identifies this process.
 */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return randomUUID()
  }
}

/** Counts for as long as the machine runs, whatever happens to its clock; the same in all processes. */
export const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n)
