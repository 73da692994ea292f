import { readFile, stat } from 'node:fs/promises'
import { LOG_TAIL_BYTES_MAX } from '../limits.ts'

/** The end of a program's log from offset `start`; the reason of a failed start is only there. */
export async function logTail(path: string, start = 0): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  const from = Math.max(start, bytes.length - LOG_TAIL_BYTES_MAX)
  return bytes.toString('utf8', from).trim() || '(its log is empty)'
}

/** The offset at which the next start begins to write, so that old errors are not read as new ones. */
export async function logSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
