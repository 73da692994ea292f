import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const BIN = fileURLToPath(new URL('../../service/bin/', import.meta.url))
/** Inside the repository, so that packages that stay outside the bundle are found. Git ignores it. */
const BUNDLES = fileURLToPath(new URL('../../.data/programs/', import.meta.url))
const DAY_MS = 86_400_000
/** They load files of their own by path: compiled code, fonts. */
const NOT_BUNDLED = [/^@node-rs\//, /^pdfkit$/]

/**
 * Bundles the service's programs and returns their folder, for SHOPWIRE_PROGRAMS. It is the same code: only its six hundred
 * modules are one file each, which takes Node a third of the time to load. A run of the end-to-end tests starts about a
 * thousand programs. Commands in the documentation and `npm run dev` run the sources.
 */
export async function bundlePrograms(): Promise<string> {
  const names = (await readdir(BIN)).filter((name) => name.endsWith('.ts'))
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name.slice(0, -'.ts'.length), join(BIN, name)])),
    platform: 'node',
    tsconfig: false,
    external: NOT_BUNDLED,
    plugins: [{ name: 'keep-url', transform: keepUrl }],
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(`the programs cannot be bundled: ${message}`)
    },
  })
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].mjs' })
  const files = output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
  }))
  return writeOnce(files)
}

/** Code of the service looks for migrations and other files beside its source. */
function keepUrl(code: string, id: string): string | undefined {
  if (!id.includes('/service/') || !code.includes('import.meta.url')) return
  return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
}

/** In a folder named by content: another run may be using it, and Node finds what it compiled last time. */
async function writeOnce(files: readonly { name: string; content: string | Uint8Array }[]): Promise<string> {
  const hash = createHash('sha256')
  for (const { name, content } of files) hash.update(name).update(content)
  const folder = join(BUNDLES, hash.digest('hex').slice(0, 16))
  await mkdir(BUNDLES, { recursive: true })
  await removeOld()
  if (await stat(folder).catch(() => undefined)) {
    await utimes(folder, new Date(), new Date())
    return folder
  }
  const unfinished = await mkdtemp(join(BUNDLES, 'unfinished-'))
  // Tests also start programs as another user.
  await chmod(unfinished, 0o755)
  for (const { name, content } of files) await writeFile(join(unfinished, name), content)
  await rename(unfinished, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(unfinished, { recursive: true, force: true })
    // Another run was faster with the same.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return folder
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(BUNDLES)) {
    const path = join(BUNDLES, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - DAY_MS) await rm(path, { recursive: true, force: true })
  }
}
