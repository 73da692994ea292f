import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { extname, join } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import { BASE_PATH } from '@shopwire/contract'
import { openApiText } from '@shopwire/contract/published'
import { assert } from '../../platform/trouble.ts'
import { answer } from '../endpoints/endpoint.ts'
import { namesTag, takesEncoding } from '../entity-tags.ts'
import type { Answer } from '../route-family.ts'

/**
 * Maps the raw path of a request to a public file. It is complete before the first request, and requests are only looked up in it,
 * so no spelling of a path reaches the disk.
 */
export type PublicFiles = ReadonlyMap<string, PublicFile>

export interface PublicFile {
  readonly headers: Readonly<Record<string, string>>
  /** Smallest first; the last is the uncompressed file. */
  readonly forms: readonly { readonly encoding: string; readonly etag: string; readonly bytes: Buffer }[]
}

/** Callers revalidate after five minutes and get 304 when nothing has changed. */
const CACHE_CONTROL = 'public, max-age=300'
const COMPRESSED_BYTES_MIN = 1_024
/** Startup waits for the compression; a higher quality saves little and takes seconds. */
const BROTLI_QUALITY = 6

/** The files that every store serves. */
export function ownFiles(): PublicFiles {
  return new Map([['/openapi.json', publicFile(Buffer.from(openApiText()), 'application/json')]])
}

/** `headers`, such as a policy for scripts, are added to the files' answers, or replace the usual ones. */
export function publicFile(bytes: Buffer, type: string, headers: Record<string, string> = {}): PublicFile {
  const isText = /^(text\/|application\/(json|javascript)|image\/svg)/.test(type)
  const compressed =
    isText && bytes.length >= COMPRESSED_BYTES_MIN
      ? [
          {
            encoding: 'br',
            bytes: brotliCompressSync(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
          },
          { encoding: 'gzip', bytes: gzipSync(bytes) },
        ]
      : []
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const forms = [...compressed, { encoding: 'identity', bytes }].map((form) => ({
    ...form,
    // A tag identifies bytes, so each encoding has its own.
    etag: form.encoding === 'identity' ? `"${hash}"` : `"${hash}-${form.encoding}"`,
  }))
  return {
    forms,
    headers: {
      'content-type': isText ? `${type}; charset=utf-8` : type,
      'cache-control': CACHE_CONTROL,
      'x-content-type-options': 'nosniff',
      ...(compressed.length > 0 && { vary: 'Accept-Encoding' }),
      ...headers,
    },
  }
}

/**
 * Every file below a folder, read now, under `at` (such as `/docs`). A page `a/b.html` is also at `a/b`, and an `index.html` also
 * at its folder, with and without the slash.
 */
export function readPublicFolder(
  folder: string,
  at: string,
  headersOf: (name: string) => Record<string, string> = () => ({}),
): PublicFiles {
  const files = new Map<string, PublicFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(join(folder, '/').length)
    const type = TYPES[extname(name)]
    assert(type !== undefined && NAME_FORM.test(name), `${name} has a name and a type that can be served`)
    const file = publicFile(readFileSync(path), type, headersOf(name))
    for (const spelling of spellings(`${at}/${name}`)) files.set(spelling, file)
  }
  return files
}

const NAME_FORM = /^[A-Za-z0-9@._/-]+$/
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

function spellings(path: string): string[] {
  if (path.endsWith('/index.html')) {
    const folder = path.slice(0, -'/index.html'.length)
    return [path, `${folder}/`, ...(folder === '' ? [] : [folder])]
  }
  return path.endsWith('.html') ? [path, path.slice(0, -'.html'.length)] : [path]
}

/** A file below the contract's prefix could be mistaken for a route of the API. */
export function assertOutsideContract(files: PublicFiles): void {
  for (const path of files.keys()) {
    assert(path.startsWith('/') && !`${path}/`.startsWith(`${BASE_PATH}/`), `${path} is outside ${BASE_PATH}`)
  }
}

export function answerWithFile(
  file: PublicFile,
  { 'if-none-match': known, 'accept-encoding': taken = '' }: IncomingHttpHeaders,
): Answer<Buffer> {
  const form = file.forms.find(({ encoding }) => takesEncoding(taken, encoding)) ?? file.forms.at(-1)
  assert(form, 'a file has a form')
  const headers = {
    ...file.headers,
    etag: form.etag,
    ...(form.encoding !== 'identity' && { 'content-encoding': form.encoding }),
  }
  const isKnown = namesTag(known, form.etag)
  return isKnown ? answer(304, NOTHING, headers) : answer(200, form.bytes, headers)
}
const NOTHING = Buffer.alloc(0)
