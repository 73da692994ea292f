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
let out: string
let version: string
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'shopwire-release-'))
  await run('npm', 'run', '--silent', 'release', '--', '--dry-run', '--out', out)
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
