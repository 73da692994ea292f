import { readFile } from 'node:fs/promises'
import { refuse } from '../../platform/trouble.ts'
import type { PublishedDigest } from './check.ts'

const LINE = /^([1-9]\d*) (\d{4}-\d\d-\d\d) ([0-9a-f]{64})$/

export const publishedLine = ({ no, day, hash }: PublishedDigest) => `${no} ${day} ${hash}`

/** A file of such lines. Empty lines, and those that begin with #, are for people. */
export async function readPublished(path: string): Promise<PublishedDigest[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw refuse('invalid_request', `${path} cannot be read (${error.code}).`)
  })
  const published: PublishedDigest[] = []
  for (const [n, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, no, day = '', hash = ''] = LINE.exec(line.trim()) ?? []
    if (no === undefined)
      throw refuse(
        'invalid_request',
        `Line ${n + 1} of ${path} is not a digest. Each line must be as "seal publish" printed it: number, day and hash.`,
      )
    published.push({ no: Number(no), day, hash })
  }
  return published
}
