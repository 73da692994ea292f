import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const run = (file: string, ...args: string[]) =>
  promisify(execFile)(file, args, { cwd: ROOT, encoding: 'utf8' })
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
  expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  const files = ['cli', 'emulator', 'sdk'].map((name) => `shopwire-${name}-${version}.tgz`)
  expect(await readdir(join(out, version))).toEqual(
    expect.arrayContaining([...files, `shopwire-image-${version}.tar.gz`, 'SHA256SUMS']),
  )
  for (const file of files)
    expect(JSON.parse(await inside(file, 'package/package.json')).version).toBe(version)
  const context = `shopwire-image-${version}.tar.gz`
  expect(await inside(context, './deploy/image/Dockerfile')).toContain(`\nARG VERSION=${version}\n`)
  expect(JSON.parse(await inside(context, './service/package.json')).version).toBe(version)
  expect(await inside(context, './CHANGELOG.md')).toMatch(
    new RegExp(`\n## ${version}\n[\\s\\S]*\n### Upgrade to ${version}\n`),
  )
  if ((await readdir(join(ROOT, 'deploy'))).includes('helm'))
    expect(await inside(`shopwire-chart-${version}.tgz`, 'shopwire/Chart.yaml')).toContain(
      `\nversion: ${version}\n`,
    )
  await run('sh', '-c', `cd ${out}/${version} && sha256sum -c SHA256SUMS`)
  expect(
    (await run('git', 'diff', '--name-only', 'HEAD', '--', 'sdk/package.json', 'CHANGELOG.md')).stdout,
  ).toBe('')
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
