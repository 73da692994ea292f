import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../../packaging/pack.ts'

const cache = join(import.meta.dirname, '../../../.data/runtimes')

/** Runtimes that come from npm. Their versions are pinned, so that a new release cannot break a test. */
export const BUN = { install: 'bun@1.4.4', program: 'bun' } as const
export const DENO = { install: 'deno@2.9.6', program: 'deno' } as const

export interface Installable {
  /** Its npm package. */
  readonly install: string
  readonly program: string
}

/** The path of the program. It is installed once, into `.data/runtimes`; rejects where it cannot be installed. */
export async function installRuntime({ install, program }: Installable): Promise<string> {
  const folder = join(cache, install)
  const path = join(folder, 'node_modules/.bin', program)
  const isThere = () => run(path, ['--version'], folder)
  await mkdir(folder, { recursive: true })
  await isThere().catch(async () => {
    await writeFile(join(folder, 'package.json'), '{ "private": true }')
    await run('npm', ['install', '--no-audit', '--no-fund', install], folder)
    await isThere()
  })
  return path
}
