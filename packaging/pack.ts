import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type PackageName = 'sdk' | 'cli' | 'emulator'

export interface Tarball {
  readonly path: string
  readonly files: readonly string[]
}

export interface Packed extends Tarball {
  /** An empty project into which the tarball was installed, without access to a registry. */
  readonly consumer: string
  remove(): Promise<void>
}

const root = join(import.meta.dirname, '..')
const RUN_MS_MAX = 120_000

/** Rebuilds `dist/`; do not call it while a test runs code from there. */
export async function buildPackage(name: PackageName): Promise<void> {
  await run(process.execPath, ['build.ts'], join(root, name))
}

/** Packs the built package as for publishing, and installs it in an empty folder. */
export async function packAndInstall(name: PackageName): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), `shopwire-${name}-`))
  const consumer = join(folder, 'consumer')
  const tarball = await packInto(folder, name)
  await installInto(consumer, [tarball], '--offline')
  return { ...tarball, consumer, remove: () => rm(folder, { recursive: true, force: true }) }
}

export async function packInto(folder: string, name: PackageName): Promise<Tarball> {
  const printed = await run('npm', ['pack', '--json', '--pack-destination', folder], join(root, name, 'dist'))
  const [{ filename, files }] = JSON.parse(printed) as [{ filename: string; files: { path: string }[] }]
  return { path: join(folder, filename), files: files.map(({ path }) => path) }
}

/** Makes the folder a project with these packages and their dependencies. */
export async function installInto(
  folder: string,
  tarballs: readonly Tarball[],
  ...options: string[]
): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const paths = tarballs.map(({ path }) => path)
  await run('npm', ['install', '--no-audit', '--no-fund', ...options, ...paths], folder)
}

/** Returns the output; rejects with all output when the command fails. */
export async function run(
  file: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const ended = promisify(execFile)(file, args, { cwd, env, timeout: RUN_MS_MAX, encoding: 'utf8' })
  const { stdout } = await ended.catch((error: Error & { stdout?: string; stderr?: string }) => {
    throw new Error(`${file} ${args.join(' ')} failed: ${error.message}\n${error.stdout}\n${error.stderr}`)
  })
  return stdout
}
