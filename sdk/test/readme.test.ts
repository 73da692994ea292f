import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'

const COMPILE_MS_MAX = 60_000

/** Declarations of the variables and functions that the README's snippets use without defining them. */
const READERS_OWN = `
import type { Item, NewOrder, Order, webhooks as Webhooks } from '@shopwire/sdk'
declare const app: import('express').Express
declare const express: typeof import('express')
declare const keyId: string, secret: string, current: string | undefined, previous: string | undefined
declare const purchase: { id: string }
declare const shop: import('@shopwire/sdk').Shopwire
declare const order: NewOrder
declare const orderId: string
declare const copy: { etag: string | null }
declare const once: Webhooks.Once
declare const rawBytes: Uint8Array
declare const headers: Headers
declare function topUp(): void
declare function askAgain(): void
declare function tryLaterWithTheSameKey(order: NewOrder): void
declare function replaceCopy(items: readonly Item[], etag: string | undefined): Promise<void>
declare function refundCustomer(cents: number): void
declare function handOver(order: Order): Promise<void>
declare function sql(text: TemplateStringsArray, ...values: unknown[]): Promise<{ handled_at: Date | null }[]>
`

describe('every snippet of the README compiles', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const snippets = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)
  let complaints: readonly string[][]

  beforeAll(() => {
    complaints = typeErrors(snippets.map(asModule))
  }, COMPILE_MS_MAX)

  test('there are snippets', () => expect(snippets.length).toBeGreaterThan(4))
  test.each(snippets.map((code, n) => [code.split('\n').find((line) => line.trim() !== ''), n]))(
    '%s',
    (_, n) => expect(complaints[Number(n)]).toEqual([]),
  )
})

function asModule(code: string): string {
  const own = declarationsNotIn(code)
  const imports = code.match(/^import .*$/gm)?.join('\n') ?? ''
  const body = code.replaceAll(/^import .*$/gm, '')
  return `${own}\n${imports}\nexport async function snippet() {\n${body}\n}`
}

/** Leaves out declarations of names that the snippet declares itself. */
function declarationsNotIn(code: string): string {
  return READERS_OWN.split('\n')
    .filter((line) => {
      const name = /^declare (?:const|function) (\w+)/.exec(line)?.[1]
      return !name || !new RegExp(`(?:const|import) \\{? ?${name}\\b`).test(code)
    })
    .join('\n')
}

/** The compiler's errors per snippet. One program for all of them, because most time goes into reading the libraries. */
function typeErrors(modules: readonly string[]): string[][] {
  // Inside the folder, so that packages are found from where a test would find them.
  const texts = new Map(modules.map((text, n) => [join(import.meta.dirname, `snippet-${n}.ts`), text]))
  const root = join(import.meta.dirname, '../..')
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  )
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => texts.has(name) || fileExists(name)
  host.readFile = (name) => texts.get(name) ?? readFile(name)
  host.getSourceFile = (name, ...rest) => {
    const text = texts.get(name)
    return text === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2024)
  }
  host.getCurrentDirectory = () => import.meta.dirname
  const names = [...texts.keys()]
  const program = ts.createProgram(names, { ...options, lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'] }, host)
  return names.map((name) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(name))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  )
}
