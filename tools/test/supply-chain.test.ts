import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LockEntry, readLock } from '../../packaging/locked-packages.ts'
import { problemsOf } from '../lockfile/problems.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const packages = readLock()

describe('threat 67: every package that npm installs is the one that was locked', () => {
  test.each(['package-lock.json', '.ci/node/package-lock.json'])(
    'each entry of %s has its hash, and no platform lacks a package',
    (file) => {
      expect(problemsOf(readLock(file))).toEqual([])
    },
  )

  const { integrity = '' } = packages['node_modules/pg'] as LockEntry
  test.for([
    ['has no hash', {}, 'has no SHA-512'],
    ['has a hash that is too weak', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'has no SHA-512'],
    ['has a hash that is too short', { integrity: 'sha512-AAAA' }, 'has no SHA-512'],
    [
      'has a hash of zeros',
      { integrity: `sha512-${Buffer.alloc(64).toString('base64')}` },
      'has a made-up hash',
    ],
    [
      'has a hash of a repeated word',
      { integrity: `sha512-${Buffer.alloc(64, 'made up').toString('base64')}` },
      'has a made-up hash',
    ],
    ["has another package's hash", { integrity }, 'has a made-up hash'],
    [
      'names a registry',
      { integrity: hashOf('planted'), resolved: 'https://registry.example/planted.tgz' },
      'names the registry',
    ],
  ] as const)('a package that %s is refused', ([, entry, why]) => {
    const path = 'node_modules/a/node_modules/planted'
    const problems = problemsOf({ ...packages, [path]: { version: '1.0.0', ...entry } })
    expect(problems).toContainEqual(expect.stringContaining(`${path} ${why}`))
  })

  test('one package in two folders is not refused for its one hash', () => {
    const again = { 'node_modules/a/node_modules/pg': packages['node_modules/pg'] as LockEntry }
    expect(problemsOf({ ...packages, ...again })).toEqual([])
  })

  test.for([
    ['@biomejs/biome', '@biomejs/cli-darwin-arm64'],
    ['rolldown', '@rolldown/binding-win32-x64-msvc'],
    ['@node-rs/argon2', '@node-rs/argon2-linux-arm64-gnu'],
  ] as const)('%s without its package %s is refused', ([parent, name]) => {
    const { [`node_modules/${name}`]: left, ...others } = packages
    expect(left?.integrity).toBeDefined()
    expect(problemsOf(others)).toEqual([
      expect.stringContaining(`node_modules/${parent} needs ${name} on some platform, and it is not locked`),
    ])
  })

  test('a workspace needs none: it is this repository', () => {
    expect(packages['node_modules/@shopwire/contract']?.link).toBe(true)
  })

  test('CI brings the same Node as the project', () => {
    const ours = Object.entries(readLock('.ci/node/package-lock.json')).filter(([path]) => path !== '')
    expect(ours.length).toBe(2)
    for (const [path, { version, integrity }] of ours)
      expect(packages[path]).toMatchObject({ version, integrity })
  })
})

describe('a dependency with an install script', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'install-script-'))
    const dependency = join(folder, 'dependency')
    await mkdir(dependency)
    await writeJson(join(dependency, 'package.json'), {
      name: 'dependency',
      version: '1.0.0',
      scripts: { postinstall: 'echo it ran >"$INSTALL_SCRIPT_RAN"' },
    })
    await run('npm', ['pack', '--pack-destination', folder], { cwd: dependency })
    await mkdir(join(folder, 'project'))
    await copyFile(join(ROOT, '.npmrc'), join(folder, 'project/.npmrc'))
    await writeJson(join(folder, 'project/package.json'), {
      name: 'project',
      version: '1.0.0',
      dependencies: { dependency: 'file:../dependency-1.0.0.tgz' },
      // Even so: what a package.json allows does not matter either.
      allowScripts: { 'file:../dependency-1.0.0.tgz': true },
    })
    await npm('install', '--package-lock-only')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is installed by npm ci, and its script does not run', async () => {
    await npm('ci')
    expect(existsSync(join(folder, 'project/node_modules/dependency/package.json'))).toBe(true)
    expect(existsSync(join(folder, 'ran'))).toBe(false)
  })

  test('would run its script without our .npmrc', async () => {
    await npm('ci', '--ignore-scripts=false')
    expect(existsSync(join(folder, 'ran'))).toBe(true)
  })

  function npm(...args: string[]) {
    return run('npm', [...args, '--offline', '--no-audit'], {
      cwd: join(folder, 'project'),
      env: { ...process.env, INSTALL_SCRIPT_RAN: join(folder, 'ran') },
    })
  }
})

function hashOf(text: string): string {
  return `sha512-${createHash('sha512').update(text).digest('base64')}`
}

function writeJson(file: string, value: unknown) {
  return writeFile(file, JSON.stringify(value))
}
