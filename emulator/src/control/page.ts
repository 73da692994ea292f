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
const PLACEHOLDER = `<!doctype html>
<meta charset="utf-8">
<title>Shopwire emulator</title>
<h1>Shopwire emulator</h1>
<p>It runs. What it knows is at <a href="/_emulator">/_emulator</a>.</p>
`

/** The page and its files, by path. Read from the disk at each look, so that whoever writes them sees every change. */
export async function readPage() {
  const names = await readdir(FOLDER).catch((): string[] => [])
  const paths = new Map<string, string | undefined>([
    ['/', names.includes('index.html') ? 'index.html' : undefined],
  ])
  for (const name of names) if (extname(name) in TYPES) paths.set(`/${name}`, name)
  return {
    has: (path: string) => paths.has(path),
    serve(path: string, response: ServerResponse) {
      const name = paths.get(path)
      const body = name === undefined ? PLACEHOLDER : readFileSync(new URL(name, FOLDER))
      response.writeHead(200, {
        ...HEADERS,
        'content-type': TYPES[extname(name ?? '.html')] ?? TYPES['.html'],
      })
      response.end(body)
    },
  }
}
