import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { assert } from '../../platform/trouble.ts'

/** A file of the built application, with the compressed forms that the build made of it. */
export interface WebFile {
  readonly type: string
  /** Smallest first; the last is the uncompressed file. */
  readonly forms: readonly { readonly encoding: string; readonly etag: string; readonly bytes: Buffer }[]
}

/** By the path below the folder, such as `assets/index-B3f9.js`. */
export type WebFiles = ReadonlyMap<string, WebFile>

const NAME_FORM = /^[A-Za-z0-9@._/-]+$/
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/** Reads the whole folder now; no request touches the disk. Source maps are for developers and are left out. */
export function readWebFolder(folder: string): WebFiles {
  const bytesOf = new Map<string, Buffer>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    bytesOf.set(path.slice(join(folder, '/').length), readFileSync(path))
  }
  const files = new Map<string, WebFile>()
  for (const [name, bytes] of bytesOf) {
    const extension = extname(name)
    if (extension === '.map' || ENCODINGS.some(([, ending]) => ending === extension)) continue
    const type = TYPES[extension]
    assert(type !== undefined && NAME_FORM.test(name), `${name} has a name and a type that can be served`)
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    const compressed = ENCODINGS.flatMap(([encoding, ending]) => {
      const form = bytesOf.get(name + ending)
      // A tag identifies bytes, so each encoding has its own.
      return form ? [{ encoding, bytes: form, etag: `"${hash}-${encoding}"` }] : []
    })
    files.set(name, { type, forms: [...compressed, { encoding: 'identity', bytes, etag: `"${hash}"` }] })
  }
  return files
}
