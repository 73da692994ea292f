import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname } from 'node:path'

const FOLDER = new URL('../page/', import.meta.url)
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The page and its files, by path. Read from disk for every request, so that changes during development are visible at once. */
export async function readPage() {
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES)
  const paths = new Map([['/', 'index.html'], ...names.map((name) => [`/${name}`, name] as const)])
  return {
    has: (path: string) => paths.has(path),
    serve(path: string, response: ServerResponse) {
      const name = paths.get(path) ?? 'index.html'
      response.writeHead(200, { ...HEADERS, 'content-type': TYPES[extname(name)] })
      response.end(readFileSync(new URL(name, FOLDER)))
    },
  }
}
