import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { codeBlocks, ROOT, readPages } from '@shopwire/test-kit/pages/code-blocks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installInto, run as runIn } from '../../packaging/pack.ts'

const run = (file: string, ...args: string[]) =>
  promisify(execFile)(file, args, { cwd: ROOT, encoding: 'utf8' })
const PACKAGES = ['cli', 'emulator', 'sdk'] as const
/** In the environment and in the files of whoever makes the release. */
const SECRET = 'secret-of-the-release-test'
let out: string
let version: string
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'shopwire-release-'))
  await promisify(execFile)('npm', ['run', '--silent', 'release', '--', '--dry-run', '--out', out], {
    cwd: ROOT,
    env: { ...process.env, SHOPWIRE_ENCRYPTION_KEYS: SECRET, NPM_TOKEN: SECRET },
  })
  ;[version = ''] = await readdir(out)
}, 240_000)
afterAll(() => rm(out, { recursive: true, force: true }))

const inside = async (file: string, path: string) =>
  (await run('tar', '-xzOf', join(out, version, file), path)).stdout

test('the dry run makes packages, the context of the image and the chart with one new version, and changes nothing here', async () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+(-rc\.[1-9]\d*)?$/)
  const files = PACKAGES.map((name) => `shopwire-${name}-${version}.tgz`)
  const others = ['chart-V.tgz', 'image-V.tar.gz', 'notes-V.md', 'sbom-V.cdx.json'].map(
    (name) => `shopwire-${name.replace('V', version)}`,
  )
  expect(await readdir(join(out, version))).toEqual(['SHA256SUMS', ...files, ...others].sort())
  for (const file of files)
    expect(JSON.parse(await inside(file, 'package/package.json')).version).toBe(version)
  const context = `shopwire-image-${version}.tar.gz`
  expect(await inside(context, './deploy/image/Dockerfile')).toContain(`\nARG VERSION=${version}\n`)
  expect(JSON.parse(await inside(context, './service/package.json')).version).toBe(version)
  expect(await inside(context, './CHANGELOG.md')).toMatch(
    new RegExp(`\n## ${version}\n[\\s\\S]*\n### Upgrade to ${version}\n`),
  )
  expect(await inside(`shopwire-chart-${version}.tgz`, 'shopwire/Chart.yaml')).toContain(
    `\nversion: ${version}\n`,
  )
  expect(await readFile(join(out, version, `shopwire-notes-${version}.md`), 'utf8')).toMatch(
    new RegExp(`^\\S[\\s\\S]*\n### Upgrade to ${version}\n`),
  )
  const sbom = JSON.parse(await readFile(join(out, version, `shopwire-sbom-${version}.cdx.json`), 'utf8'))
  const listed = sbom.components.map(({ name }: { name: string }) => name)
  expect(listed).toEqual(expect.arrayContaining(['pg', 'commander', 'react', 'node']))
  expect(listed.filter((name: string) => ['vitest', 'test-kit', 'tests', 'service'].includes(name))).toEqual(
    [],
  )
  const { stdout: checked } = await run('sh', '-c', `cd ${out}/${version} && sha256sum -c SHA256SUMS`)
  expect(checked.trim().split('\n')).toHaveLength(files.length + others.length)
  expect(
    (await run('git', 'diff', '--name-only', 'HEAD', '--', 'sdk/package.json', 'CHANGELOG.md')).stdout,
  ).toBe('')
})

test('the packages, installed into an empty folder, run the programs in the docs that need them', async () => {
  const folder = join(out, 'project')
  const tarballs = PACKAGES.map((name) => ({
    path: join(out, version, `shopwire-${name}-${version}.tgz`),
    files: [],
  }))
  await installInto(folder, tarballs, '--prefer-offline')
  for (const program of ['shopwire', 'shopwire-emulator'])
    expect((await runIn('npx', [program, '--version'], folder)).trim()).toBe(version)
  const blocks = (await readPages()).flatMap(codeBlocks).filter(({ marks }) => marks.run === 'packages')
  expect(blocks.length).toBeGreaterThan(0)
  for (const { code, line } of blocks) {
    const file = join(folder, `program-${line}.test.mjs`)
    await writeFile(file, code)
    await runIn(process.execPath, ['--test', file], folder)
  }
})

test('without --dry-run no release is made while package.json does not say where this is hosted', async () => {
  const { repository } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const made = run('npm', 'run', '--silent', 'release', '--', '--pack', '--out', join(out, 'none'))
  if (repository === undefined) await expect(made).rejects.toThrow(/does not say where this is hosted/)
  else await expect(made).rejects.toThrow(/not in version/)
})

test('threat 63: no file of a release contains a secret of the environment it was made in, or a private key', async () => {
  const archives = (await readdir(join(out, version))).filter((name) => name.endsWith('gz'))
  expect(archives).toHaveLength(5)
  for (const name of archives) {
    const { stdout } = await promisify(execFile)('tar', ['-xzOf', join(out, version, name)], {
      maxBuffer: 2 ** 28,
    })
    expect(stdout.length, name).toBeGreaterThan(1_000)
    // Its own test names the secret.
    if (!name.includes('image')) expect(stdout.includes(SECRET), name).toBe(false)
    expect(/^-----BEGIN (\w+ )?PRIVATE KEY-----$/m.test(stdout), name).toBe(false)
  }
})
