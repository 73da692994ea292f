import { inflateSync } from 'node:zlib'

/**
 * The text that the pages of a PDF show, one string per page, one line per piece of text: enough for the fonts that every reader has. The
 * smallest kept library for it, unpdf, has 2.1 MB.
 */
export function textOfPdf(file: Buffer): string[] {
  const raw = file.toString('latin1')
  const pages: string[] = []
  for (const match of raw.matchAll(/stream\r?\n/g)) {
    const start = match.index + match[0].length
    const end = raw.indexOf('endstream', start)
    const content = inflated(file.subarray(start, end))
    if (content === undefined || !/\bBT\b/.test(content)) continue
    pages.push([...content.matchAll(/\[([^\]]*)\] TJ/g)].map(([, parts = '']) => piece(parts)).join('\n'))
  }
  return pages
}

function piece(parts: string): string {
  return [...parts.matchAll(/<([0-9a-f]*)>/gi)]
    .map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
    .join('')
}

function inflated(bytes: Buffer): string | undefined {
  try {
    return inflateSync(bytes).toString('latin1')
  } catch {
    return undefined
  }
}
