import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildPackage, type Packed, packAndInstall, run } from '../../packaging/pack.ts'

const GZIPPED_BYTES_MAX = 12_000
const doors = ['', '/webhooks', '/express', '/fastify', '/hono', '/next', '/workers']

let packed: Packed
let installed: string

beforeAll(async () => {
  await buildPackage('sdk')
  packed = await packAndInstall('sdk')
  installed = join(packed.consumer, 'node_modules/@shopwire/sdk')
}, 120_000)

afterAll(() => packed?.remove())

describe('the published package', () => {
  test('contains code, types, readme, licence, and nothing else', async () => {
    const others = packed.files.filter((path) => !/^[\w-]+\.(mjs|cjs|d\.mts|d\.cts)$/.test(path))
    expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
  })

  test('has no dependencies in package.json and no external imports', async () => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    const named = Object.keys(manifest).filter((field) => /dependencies|scripts/i.test(field))
    expect(named).toEqual([])
    for (const path of packed.files.filter((file) => /\.[cm]?[jt]s$/.test(file))) {
      for (const wanted of importsOf(await readFile(join(installed, path), 'utf8'))) {
        expect(wanted, path).toMatch(/^\.\/[\w-]+\.[cm]js$/)
      }
    }
  })

  test(`adds less to a bundle than ${GZIPPED_BYTES_MAX} bytes, gzipped`, async () => {
    const code = await withImports('index.mjs')
    expect(gzipSync(code).length).toBeLessThan(GZIPPED_BYTES_MAX)
  })

  test('passes publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, pack: false, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  test('passes are-the-types-wrong for every module resolution', async () => {
    const found = await checkPackage(createPackageFromTarballData(await readFile(packed.path)))
    if (!found.types) throw new Error('there are no types')
    expect(found.problems).toEqual([])
    expect(Object.keys(found.entrypoints).sort()).toEqual(
      [...doors.map((door) => `.${door}`), './package.json'].sort(),
    )
  })
})

describe('a program with the package installed', () => {
  const probe = `
    const event = await webhooks.sign({ event: 'test', data: { message: 'hi' } }, { secret: 's' })
    const { data } = await webhooks.unwrap(event.body, event.headers, { secrets: ['s'] })
    const shop = new Shopwire({ keyId: 'key', secret: 's', baseUrl: 'https://shop.example/v1' })
    console.log(data.message, typeof shop.orders.create, typeof webhook)`

  test('in ESM', async () => {
    const imports = `import { Shopwire, webhooks } from '@shopwire/sdk'; import { webhook } from '@shopwire/sdk/express'`
    expect(await runCode('probe.mjs', `${imports};${probe}`)).toBe('hi function function\n')
  })

  test('in CommonJS', async () => {
    const imports = `const { Shopwire, webhooks } = require('@shopwire/sdk'); const { webhook } = require('@shopwire/sdk/hono')`
    expect(await runCode('probe.cjs', `${imports};(async () => {${probe}})()`)).toBe('hi function function\n')
  })

  test('an error is an instance of its class in the other module system too', async () => {
    const code = `import * as esm from '@shopwire/sdk'
      import { createRequire } from 'node:module'
      const cjs = createRequire(import.meta.url)('@shopwire/sdk')
      class Mine extends esm.ShopwireError {}
      const error = new cjs.TimeoutError('late')
      console.log(esm.ShopwireError !== cjs.ShopwireError, error instanceof esm.TimeoutError,
        error instanceof esm.ConnectionError, error instanceof esm.ShopwireError,
        error instanceof esm.ApiError, error instanceof Mine, new Mine('') instanceof Mine,
        new Mine('') instanceof cjs.ShopwireError,
        new cjs.WebhookVerificationError('stale') instanceof esm.WebhookVerificationError)`
    expect(await runCode('copies.mjs', code)).toBe('true true true true false false true true true\n')
  })

  test.each(doors)('gets the same names from @shopwire/sdk%s by import and by require', async (door) => {
    const name = JSON.stringify(`@shopwire/sdk${door}`)
    const code = `const a = Object.keys(await import(${name})).filter((key) => key !== 'default' && key !== 'module.exports').sort()
      const { createRequire } = await import('node:module')
      const b = Object.keys(createRequire(import.meta.url)(${name})).sort()
      console.log(a.length > 0 && a.join() === b.join())`
    expect(await runCode('doors.mjs', code)).toBe('true\n')
  })

  const uses = `
    const shop = new Shopwire()
    async function buy(): Promise<string> {
      try {
        const order = await shop.orders.create({ items: [{ id: '1', qty: 1 }], idempotencyKey: 'order-0001' })
        return order.replayed ? order.id : order.links.join()
      } catch (error) {
        if (error instanceof ConflictError && error.type === 'price_changed') return error.docUrl
        throw error
      }
    }
    // @ts-expect-error the key is required
    shop.orders.create({ items: [] })
    const hook = webhook({ secrets: ['s'], onEvent: (event) => {
      if (event.event === 'order.delivered') return event.data.order.links
      return event.id
    } })
    async function all() { for await (const item of shop.catalogue.iterate({ type: 'bundle' })) console.log(item.price_cents) }
    export { all, buy, hook }`

  test.each([
    ['an ES module with the types of the web', 'typescript7', 'uses.mts', ['--lib', 'es2022,dom']],
    ['a CommonJS module', 'typescript7', 'uses.cts', ['--lib', 'es2022,dom']],
    [
      'a bundler and TypeScript 6',
      'typescript',
      'uses.mts',
      ['--lib', 'es2022,dom', '--module', 'esnext', '--moduleResolution', 'bundler'],
    ],
  ])('in TypeScript: %s', { timeout: 60_000 }, async (_name, compiler, file, options) => {
    const imports = `import { ConflictError, Shopwire } from '@shopwire/sdk'; import { webhook } from '@shopwire/sdk/next'\n`
    await writeFile(join(packed.consumer, file), imports + uses)
    const tsc = join(import.meta.dirname, `../../node_modules/${compiler}/bin/tsc`)
    // No --types: none are installed in this folder.
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext']
    await run(process.execPath, [tsc, ...strict, ...options, file], packed.consumer)
  })
})

async function runCode(file: string, code: string): Promise<string> {
  await writeFile(join(packed.consumer, file), code)
  return run(process.execPath, [file], packed.consumer)
}

function importsOf(code: string): string[] {
  const matches = code.matchAll(/\b(?:from|import|require\()\s*["']([^"']+)["']/g)
  return [...matches].map(([, name = '']) => name)
}

/** The text of a module and of all modules it imports. */
async function withImports(path: string, seen = new Set<string>()): Promise<string> {
  if (seen.has(path)) return ''
  seen.add(path)
  const code = await readFile(join(installed, path), 'utf8')
  const rest = await Promise.all(importsOf(code).map((one) => withImports(join(dirname(path), one), seen)))
  return code + rest.join('')
}
