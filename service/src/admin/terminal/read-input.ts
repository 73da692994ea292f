import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { refuse } from '../../platform/trouble.ts'

/** A file, or standard input for "-". */
export async function readInput(path: string): Promise<Buffer> {
  if (path === '-') return buffer(process.stdin)
  try {
    return await readFile(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file (ENOENT)' : message
    throw refuse('invalid_request', `${path} cannot be read: ${why}. Check the path.`)
  }
}

/** The lines of a file, without empty ones. Links are read from files because arguments end up in shell histories. */
export async function readLines(path: string): Promise<string[]> {
  const text = (await readInput(path)).toString('utf8')
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
