import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Packed, packAndInstall, run } from '../../packaging/pack.ts'
import manifest from '../package.json' with { type: 'json' }
import { strangersEnv } from './support.ts'

let packed: Packed

beforeAll(async () => {
  packed = await packAndInstall('cli')
})

afterAll(() => packed?.remove())

const installed = () => join(packed.consumer, 'node_modules/.bin/shopwire')

test('runs when installed without other packages', async () => {
  expect(await run(installed(), ['--version'], packed.consumer)).toBe(`${manifest.version}\n`)
  const env = strangersEnv({
    SHOPWIRE_BASE_URL: 'https://shop.example/v1',
    SHOPWIRE_API_KEY: 'key_x',
    SHOPWIRE_API_SECRET: 's',
  })
  const printed = await run(installed(), ['sign', 'GET', '/v1/ping', '--json'], packed.consumer, env)
  expect(JSON.parse(printed).headers['X-Api-Signature']).toMatch(/^[0-9a-f]{64}$/)
})

test('has no dependencies and contains the licences', async () => {
  const manifest = JSON.parse(
    await readFile(join(packed.consumer, 'node_modules/@shopwire/cli/package.json'), 'utf8'),
  )
  expect(manifest).not.toHaveProperty('dependencies')
  expect(packed.files.filter((path) => !path.endsWith('.mjs')).sort()).toEqual([
    'LICENSE',
    'README.md',
    'THIRD-PARTY-LICENSES.txt',
    'package.json',
  ])
})

test('passes publint', async () => {
  const { messages, pkg } = await publint({
    pkgDir: join(packed.consumer, 'node_modules/@shopwire/cli'),
    pack: false,
    strict: true,
  })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})
