import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'

/** In the package the pages are beside the code, in the repository in docs/. */
const FOLDERS = [new URL('../docs/', import.meta.url), new URL('../../../docs/', import.meta.url)]
const PARTS = ['reference', 'guides', 'start']

/**
 * The documentation pages that errors, `doctor` and `golive` link to, by path. They are served as
 * Markdown, because the built portal is larger than the emulator.
 * `/docs/reference/errors` is `reference/errors.md`.
 */
export async function readDocs() {
  const paths = new Map<string, URL>()
  for (const part of PARTS) {
    const { folder, names } = await listing(part)
    for (const name of names.filter((one) => one.endsWith('.md'))) {
      const file = new URL(name, folder)
      const path = `/docs/${part}/${name}`
      for (const one of [path, path.replace(/(README)?\.md$/, '')]) paths.set(one, file)
    }
  }
  return {
    has: (path: string) => paths.has(path),
    serve(path: string, response: ServerResponse) {
      response.writeHead(200, {
        'cache-control': 'no-store',
        // A browser would save text/markdown instead of showing it.
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      })
      response.end(readFileSync(paths.get(path) as URL))
    },
  }
}

async function listing(part: string): Promise<{ folder: URL; names: string[] }> {
  for (const docs of FOLDERS) {
    const folder = new URL(`${part}/`, docs)
    const names = await readdir(folder, { recursive: true }).catch((): string[] => [])
    if (names.length > 0) return { folder, names: names.map((name) => name.replaceAll('\\', '/')) }
  }
  return { folder: FOLDERS[0] as URL, names: [] }
}
