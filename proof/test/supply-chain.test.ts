import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readLock } from '../../packaging/locked-packages.ts'
import { unverified } from '../../tools/lockfile.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const packages = readLock()

describe('threat 67: every package that npm installs is the one that was locked', () => {
  test.each(['package-lock.json', '.ci/node/package-lock.json'])('each entry of %s has its hash', (file) => {
    expect(unverified(readLock(file))).toEqual([])
  })

  test('an entry without a hash, or with one that is too weak, is refused', () => {
    const planted = {
      ...packages,
      'node_modules/no-hash': { version: '1.0.0' },
      'node_modules/a/node_modules/weak': {
        version: '1.0.0',
        integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
      },
    }
    expect(unverified(planted)).toEqual(['node_modules/no-hash', 'node_modules/a/node_modules/weak'])
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

function writeJson(file: string, value: unknown) {
  return writeFile(file, JSON.stringify(value))
}
