import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../../../packaging/pack.ts'

const cache = join(import.meta.dirname, '../../../.data/runtimes')

const isArm = process.arch === 'arm64'
const libc = process.platform === 'linux' ? '-glibc' : ''

export interface Installable {
  /**
   * The npm package that contains the program for this platform. Not the package that people name (`bun`, `deno`): that one
   * fetches the program in an install script, and none runs here.
   */
  readonly install: string
  /** The program's path in that package. */
  readonly program: string
}

/** Their versions are pinned, so that a new release cannot break a test. */
export const BUN: Installable = {
  install: `@oven/bun-${process.platform}-${isArm ? 'aarch64' : 'x64'}@1.4.4`,
  program: 'bin/bun',
}
export const DENO: Installable = {
  install: `@deno/${process.platform}-${process.arch}${libc}@2.9.6`,
  program: 'deno',
}
export const WORKERD: Installable = {
  install: `@cloudflare/workerd-${process.platform}-${isArm ? 'arm64' : '64'}`,
  program: 'bin/workerd',
}

export function node(major: number): Installable {
  return { install: `node-${process.platform}-${process.arch}@${major}`, program: 'bin/node' }
}

/** The path of the program. It is installed once, into `.data/runtimes`; rejects where it cannot be installed. */
export async function installRuntime({ install, program }: Installable): Promise<string> {
  const folder = join(cache, install)
  const [name = ''] = install.split(/(?<=.)@/)
  const path = join(folder, 'node_modules', name, program)
  const isThere = () => run(path, ['--version'], folder)
  await mkdir(folder, { recursive: true })
  await isThere().catch(async () => {
    await writeFile(join(folder, 'package.json'), '{ "private": true }')
    await run('npm', ['install', '--no-audit', '--no-fund', install], folder)
    await isThere()
  })
  return path
}
