import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { refuse } from '../../platform/trouble.ts'

/** The lines of a file, or of standard input for "-". Links are given this way: arguments end up in shell histories. */
export async function readLines(path: string): Promise<string[]> {
  let content: string
  try {
    content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  } catch (error) {
    throw refuse('invalid_request', `"${path}" cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
  return content
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
