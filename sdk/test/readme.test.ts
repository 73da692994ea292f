import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/** What a reader has around a snippet: their own variables and functions, with the types that the text gives them. */
const READERS_OWN = `
import type { NewOrder, Order, webhooks as Webhooks } from '@shopwire/sdk'
declare const app: import('express').Express
declare const express: typeof import('express')
declare const keyId: string, secret: string, current: string, previous: string
declare const purchase: { id: string }
declare const shop: import('@shopwire/sdk').Shopwire
declare const order: NewOrder
declare const once: Webhooks.Once
declare const rawBytes: Uint8Array
declare const headers: Headers
declare function topUp(): void
declare function askAgain(): void
declare function tryLaterWithTheSameKey(order: NewOrder): void
declare function handOver(order: Order): Promise<void>
declare function sql(text: TemplateStringsArray, ...values: unknown[]): Promise<{ handled_at: Date | null }[]>
`

describe('every snippet of the README compiles as it stands there', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const snippets = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)

  test('there are snippets', () => expect(snippets.length).toBeGreaterThan(4))
  test.each(snippets.map((code) => [code.split('\n').find((line) => line.trim() !== ''), code]))(
    '%s',
    (_, code) => expect(complaintsAbout(code)).toEqual([]),
  )
})

function complaintsAbout(code: string): string[] {
  const own = declarationsNotIn(code)
  const imports = code.match(/^import .*$/gm)?.join('\n') ?? ''
  const body = code.replaceAll(/^import .*$/gm, '')
  const text = `${own}\n${imports}\nexport async function snippet() {\n${body}\n}`
  return typeErrors(text)
}

/** A snippet that declares a name itself does not get the reader's. */
function declarationsNotIn(code: string): string {
  return READERS_OWN.split('\n')
    .filter((line) => {
      const name = /^declare (?:const|function) (\w+)/.exec(line)?.[1]
      return !name || !new RegExp(`(?:const|import) \\{? ?${name}\\b`).test(code)
    })
    .join('\n')
}

function typeErrors(text: string): string[] {
  // Inside the folder, so that packages are found from where a test would find them.
  const path = join(import.meta.dirname, 'snippet.ts')
  const root = join(import.meta.dirname, '../..')
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  )
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name === path || fileExists(name)
  host.readFile = (name) => (name === path ? text : readFile(name))
  host.getSourceFile = (name, ...rest) =>
    name === path ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2024) : getSourceFile(name, ...rest)
  host.getCurrentDirectory = () => dirname(path)
  const program = ts.createProgram([path], { ...options, lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'] }, host)
  const file = program.getSourceFile(path)
  return ts
    .getPreEmitDiagnostics(program, file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
