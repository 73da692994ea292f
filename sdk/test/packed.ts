import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const sdk = join(import.meta.dirname, '..')
const MINUTE = 60_000

export interface Packed {
  readonly tarball: string
  readonly files: readonly string[]
  /** An empty project into which the tarball was installed, without asking any registry. */
  readonly consumer: string
  remove(): Promise<void>
}

/** Builds the package, packs it as it would be published, and installs it where nothing else is. */
export async function packAndInstall(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-sdk-'))
  const consumer = join(folder, 'consumer')
  await run(process.execPath, ['build.ts'], sdk)
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], join(sdk, 'dist'))
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
  const tarball = join(folder, filename)
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], consumer)
  return {
    tarball,
    files: files.map(({ path }) => path),
    consumer,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** What it prints; fails with all it said when it ends badly. */
export async function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  const ended = promisify(execFile)(file, args, { cwd, timeout: 2 * MINUTE, encoding: 'utf8' })
  const { stdout } = await ended.catch((error: Error & { stdout?: string; stderr?: string }) => {
    throw new Error(`${file} ${args.join(' ')} failed: ${error.message}\n${error.stdout}\n${error.stderr}`)
  })
  return stdout
}
