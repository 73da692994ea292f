import { readFile, stat } from 'node:fs/promises'
import { LOG_TAIL_BYTES_MAX } from './limits.ts'

/** What a program said last, counted from `start`; an engine that did not start says why only there. */
export async function logTail(path: string, start = 0): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  const from = Math.max(start, bytes.length - LOG_TAIL_BYTES_MAX)
  return bytes.toString('utf8', from).trim() || '(its log is empty)'
}

/** Where the next launch begins to write: an old complaint must not be read as a new one. */
export async function logSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
