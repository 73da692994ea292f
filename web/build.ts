import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build, type Plugin } from 'vite'
import { writeLicenceList } from '../packaging/licences.ts'
import { BUILT_FROM, type BuiltFrom, packagesOf } from '../packaging/packages-of.ts'
import { distOf, SHARED, webConfig } from './vite.config.ts'

/**
 * Builds web/dist/<application>: hashed files under assets/, index.html, and a .br and .gz beside every file of text. Fails when what a browser must
 * load before the first screen grows beyond the budget.
 */
const APP = 'dashboard'
const DIST = distOf(APP)
const FIRST_LOAD_BYTES_MAX = 250_000
const TEXT = new Set(['.html', '.js', '.css', '.svg', '.json', '.map', '.txt'])
/** Smaller than this, the headers cost more than compression saves. */
const COMPRESS_BYTES_MIN = 512

/** Of Latin letters, which every page has. */
const FONT = /inter-latin-wght-normal/

interface Chunk {
  readonly file: string
  readonly name?: string
  readonly isEntry?: boolean
  readonly imports?: readonly string[]
  readonly css?: readonly string[]
}

// Otherwise whoever builds with NODE_ENV=test, as a test does, gets React's development build.
process.env.NODE_ENV = 'production'
const modules = new Set<string>()
/** Styles and fonts too, which no chunk lists. */
const remember: Plugin = {
  name: 'remember-modules',
  generateBundle() {
    for (const id of this.getModuleIds()) modules.add(id)
  },
}
const config = webConfig(APP)
await build({
  ...config,
  plugins: [...(config.plugins ?? []), remember],
  configFile: false,
  logLevel: 'warn',
})
const manifest = JSON.parse(await readFile(join(DIST, '.vite/manifest.json'), 'utf8')) as Record<
  string,
  Chunk
>
await rm(join(DIST, '.vite'), { recursive: true })
const scheme = await hashFile('colour-scheme.js')
await loadEarly(manifest)
await report([...firstLoad(manifest), scheme])
const builtFrom: BuiltFrom = { packages: packagesOf(modules) }
await writeLicenceList(DIST, builtFrom.packages)
await compressAll()
await writeFile(join(DIST, BUILT_FROM), JSON.stringify(builtFrom))

/** Everything with a hash in its name may be cached for ever, so this file gets one too. */
async function hashFile(name: string): Promise<string> {
  const content = await readFile(join(DIST, name))
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8)
  const hashed = `assets/${name.replace('.', `-${hash}.`)}`
  await rename(join(DIST, name), join(DIST, hashed))
  const html = await readFile(join(DIST, 'index.html'), 'utf8')
  const changed = html.replace(new RegExp(`<script[^>]*src="/${name}"`), `<script src="/${hashed}"`)
  if (!changed.includes(hashed)) throw new Error(`index.html does not load /${name}`)
  await writeFile(join(DIST, 'index.html'), changed)
  return hashed
}

/**
 * Every screen needs the shared chunk, and every page the font. Without a word in the page, the browser learns of them only when the
 * first script has run.
 */
async function loadEarly(chunks: Readonly<Record<string, Chunk>>): Promise<void> {
  const all = Object.values(chunks)
  const shared = all.find(({ name }) => name === SHARED)
  const font = all.find(({ file }) => FONT.test(file))
  if (!shared || !font) throw new Error(`the build has no chunk "${SHARED}", or not the font of the pages`)
  const links = [
    `<link rel="modulepreload" crossorigin href="/${shared.file}">`,
    ...(shared.css ?? []).map((file) => `<link rel="stylesheet" crossorigin href="/${file}">`),
    `<link rel="preload" as="font" type="font/woff2" crossorigin href="/${font.file}">`,
  ]
  const html = await readFile(join(DIST, 'index.html'), 'utf8')
  await checkLayers(html)
  await writeFile(join(DIST, 'index.html'), html.replace('</head>', `  ${links.join('\n    ')}\n  </head>`))
}

/** Whichever layer is named first loses: if a style of Mantine's came before theme/layers.css, it would lose to our reset. */
async function checkLayers(html: string): Promise<void> {
  const [, first = ''] = /rel="stylesheet"[^>]*href="\/([^"]+)"/.exec(html) ?? []
  const sheet = await readFile(join(DIST, first), 'utf8')
  if (!sheet.startsWith('@layer base'))
    throw new Error(`${first} must begin with the layers of theme/layers.css`)
}

/** The files that the page itself names: the entry, what it imports at once, and what every screen needs. Not what one screen loads. */
function firstLoad(chunks: Readonly<Record<string, Chunk>>): readonly string[] {
  const files = new Set<string>()
  const add = (chunk: Chunk | undefined): void => {
    if (!chunk || files.has(chunk.file)) return
    files.add(chunk.file)
    for (const css of chunk.css ?? []) files.add(css)
    for (const name of chunk.imports ?? []) add(chunks[name])
  }
  for (const chunk of Object.values(chunks)) if (chunk.isEntry || chunk.name === SHARED) add(chunk)
  return [...files]
}

async function report(files: readonly string[]): Promise<void> {
  const sizes = await Promise.all(
    files.map(async (file) => ({ file, bytes: gzipSync(await readFile(join(DIST, file))).length })),
  )
  const sum = (ending: string) =>
    sizes.reduce((total, { file, bytes }) => (file.endsWith(ending) ? total + bytes : total), 0)
  const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`
  process.stdout.write(
    `web/dist/${APP}: first load ${kB(sum('.js'))} JavaScript and ${kB(sum('.css'))} CSS, gzipped\n`,
  )
  if (sum('.js') > FIRST_LOAD_BYTES_MAX) {
    throw new Error(
      `the first load is ${kB(sum('.js'))} of JavaScript, over the budget of ${kB(FIRST_LOAD_BYTES_MAX)}: load screens and charts lazily`,
    )
  }
}

async function compressAll(): Promise<void> {
  for (const name of await readdir(DIST, { recursive: true })) {
    if (!TEXT.has(extname(name))) continue
    const path = join(DIST, name)
    const content = await readFile(path)
    if (content.length < COMPRESS_BYTES_MIN) continue
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    }
    await writeFile(`${path}.br`, brotliCompressSync(content, { params }))
    await writeFile(`${path}.gz`, gzipSync(content, { level: 9 }))
  }
}
