import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { idOf, type LockEntry, lockedPath, readLock, thirdParty } from '../../packaging/locked-packages.ts'

interface Platform {
  readonly os: string
  readonly cpu: string
  readonly libc?: string
}

const PLATFORMS: readonly Platform[] = [
  { os: 'darwin', cpu: 'arm64' },
  { os: 'darwin', cpu: 'x64' },
  { os: 'linux', cpu: 'arm64', libc: 'glibc' },
  { os: 'linux', cpu: 'x64', libc: 'glibc' },
  { os: 'win32', cpu: 'x64' },
]
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BYTES_MAX = 2 ** 24
const INSTALL_MS_MAX = 600_000
const locked = readLock()
const native = thirdParty(locked).filter(([, { os, cpu }]) => os !== undefined || cpu !== undefined)
/** Packages whose code for several operating systems is in packages of its own, one of which is installed. */
const families = Object.entries(locked).filter(([path, { optionalDependencies = {} }]) => {
  const systems = Object.keys(optionalDependencies).flatMap((name) => nativeEntry(path, name)?.os ?? [])
  return new Set(systems).size > 1
})

describe.each(PLATFORMS)('a clone on $os $cpu', (platform) => {
  const expected = native.filter(([, entry]) => isFor(platform, entry))

  test('finds a locked package of every program that has one for each platform', () => {
    expect(families.length).toBeGreaterThan(10)
    const without = families.filter(
      ([path, { optionalDependencies = {} }]) =>
        !Object.keys(optionalDependencies).some((name) => isFor(platform, nativeEntry(path, name))),
    )
    expect(without.map(([path]) => path)).toEqual([])
  })

  test('would get all of them from npm ci, and none of another platform', async () => {
    const folder = await copyOfManifests()
    const printed = await npmCi(folder, platform, '--dry-run', '--offline')
    const added = new Set(
      [...printed.matchAll(/^add (\S+) (\S+)$/gm)].map(([, name, version]) => `${name}@${version}`),
    )
    const got = native.filter(([path, entry]) => added.has(idOf(path, entry)))
    expect(got.map(([path]) => path)).toEqual(expected.map(([path]) => path))
  })

  // Downloads them, and so shows that each hash is that of the package. For its own platform CI has done so before any test.
  const isOwn = platform.os === process.platform && platform.cpu === process.arch
  test.runIf(process.env.SHOPWIRE_CI === 'full' && !isOwn)(
    'gets all of them from npm ci (only with SHOPWIRE_CI=full, by the network)',
    { timeout: INSTALL_MS_MAX },
    async () => {
      const folder = await copyOfManifests()
      await npmCi(folder, platform, '--prefer-offline')
      const installed = native.filter(([path]) => existsSync(join(folder, path, 'package.json')))
      expect(installed.map(([path]) => path)).toEqual(expected.map(([path]) => path))
    },
  )
})

function nativeEntry(path: string, name: string): LockEntry | undefined {
  return locked[lockedPath(locked, path, name) ?? '']
}

/** As npm decides it, but for lists of what a package is not for, which none here has. */
function isFor(platform: Platform, entry: LockEntry | undefined): boolean {
  return (
    entry !== undefined &&
    (['os', 'cpu', 'libc'] as const).every((kind) => {
      const own = platform[kind]
      return entry[kind] === undefined || (own !== undefined && entry[kind].includes(own))
    })
  )
}

const REMOVE_MS_MAX = 120_000

async function copyOfManifests(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-'))
  // A whole node_modules: on a busy disk that takes longer than hooks may.
  onTestFinished(() => rm(folder, { recursive: true }), REMOVE_MS_MAX)
  const workspaces = Object.keys(locked).filter((path) => path !== '' && !path.includes('node_modules/'))
  const files = [
    '.npmrc',
    'package.json',
    'package-lock.json',
    ...workspaces.map((one) => `${one}/package.json`),
  ]
  for (const file of files) {
    await mkdir(join(folder, dirname(file)), { recursive: true })
    await cp(join(ROOT, file), join(folder, file))
  }
  return folder
}

async function npmCi(folder: string, { os, cpu, libc }: Platform, ...more: string[]): Promise<string> {
  const args = ['ci', `--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${libc}`] : []), ...more]
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder, maxBuffer: BYTES_MAX })
  return stdout
}
