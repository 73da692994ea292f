import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { beforeAll, expect, test } from 'vitest'
import { folder, program, strangersEnv } from './support.ts'

const run = promisify(execFile)
let consumer: string
let files: string[]

beforeAll(async () => {
  const here = await folder()
  consumer = join(here, 'consumer')
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', here], {
    cwd: join(program, '..'),
  })
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  files = packed.files.map(({ path }) => path)
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(here, packed.filename)], {
    cwd: consumer,
  })
})

const installed = () => join(consumer, 'node_modules/.bin/shopwire')

test('installed where nothing else is, it runs', async () => {
  expect((await run(installed(), ['--version'])).stdout).toBe('0.1.0\n')
  const env = strangersEnv({
    SHOPWIRE_BASE_URL: 'https://shop.example/v1',
    SHOPWIRE_API_KEY: 'key_x',
    SHOPWIRE_API_SECRET: 's',
  })
  const { stdout } = await run(installed(), ['sign', 'GET', '/v1/ping', '--json'], { env })
  expect(JSON.parse(stdout).headers['X-Api-Signature']).toMatch(/^[0-9a-f]{64}$/)
})

test('it brings nothing along, and says under which licences it is', async () => {
  const manifest = JSON.parse(
    await readFile(join(consumer, 'node_modules/@shopwire/cli/package.json'), 'utf8'),
  )
  expect(manifest).not.toHaveProperty('dependencies')
  expect(files.filter((path) => !path.endsWith('.mjs')).sort()).toEqual([
    'LICENSE',
    'LICENSE-commander',
    'README.md',
    'package.json',
  ])
})

test('publint has nothing to say', async () => {
  const { messages, pkg } = await publint({
    pkgDir: join(consumer, 'node_modules/@shopwire/cli'),
    pack: false,
    strict: true,
  })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})
