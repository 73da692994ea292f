import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const SERVICE = fileURLToPath(new URL('../service/', import.meta.url))
const BIN = join(SERVICE, 'bin')
/** They load files of their own by path: compiled code, fonts. Whoever installs the bundle installs them beside it. */
export const NOT_BUNDLED = ['@node-rs/argon2', 'pdfkit']

export interface BundledFile {
  readonly name: string
  readonly content: string | Uint8Array
  /** The files it was made from. */
  readonly modules: readonly string[]
}

/**
 * The service's programs with everything they import, one file each and a few that they share. The service looks for migrations and other
 * files beside its source: `urlOf` returns the JavaScript expression for where a source file, named from `service/`, is to be found.
 * `others`: files that are bundled with them, named in the same way.
 */
export async function bundlePrograms(
  urlOf: (source: string) => string,
  others: readonly string[] = [],
): Promise<BundledFile[]> {
  const programs = (await readdir(BIN)).filter((name) => name.endsWith('.ts')).map((name) => `bin/${name}`)
  const bundle = await rolldown({
    input: Object.fromEntries(
      [...programs, ...others].map((source) => [basename(source, '.ts'), join(SERVICE, source)]),
    ),
    platform: 'node',
    tsconfig: false,
    external: NOT_BUNDLED,
    plugins: [
      {
        name: 'keep-url',
        transform(code, id) {
          if (!id.startsWith(SERVICE) || !code.includes('import.meta.url')) return
          return code.replaceAll('import.meta.url', urlOf(relative(SERVICE, id)))
        },
      },
    ],
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(`the programs cannot be bundled: ${message}`)
    },
  })
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].mjs' })
  return output.map((file) => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : file.source,
    modules: file.type === 'chunk' ? file.moduleIds : [],
  }))
}
