import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  const complaints = typeErrors(snippets.map(asModule))

  test('there are snippets', () => expect(snippets.length).toBeGreaterThan(4))
  test.each(snippets.map((code, n) => [code.split('\n').find((line) => line.trim() !== ''), n]))(
    '%s',
    (_, n) => expect(complaints[n as number]).toEqual([]),
  )
})

function asModule(code: string): string {
  const imports = code.match(/^import .*$/gm)?.join('\n') ?? ''
  const body = code.replaceAll(/^import .*$/gm, '')
  return `${declarationsNotIn(code)}\n${imports}\nexport async function snippet() {\n${body}\n}`
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

/** Of each text what is wrong with it; one look at the libraries serves them all. */
function typeErrors(texts: readonly string[]): string[][] {
  // Inside the folder, so that packages are found from where a test would find them.
  const paths = texts.map((_, n) => join(import.meta.dirname, `snippet-${n}.ts`))
  const textAt = (path: string) => texts[paths.indexOf(path)]
  const root = join(import.meta.dirname, '../..')
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  )
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (path) => paths.includes(path) || fileExists(path)
  host.readFile = (path) => textAt(path) ?? readFile(path)
  host.getSourceFile = (path, ...rest) => {
    const text = textAt(path)
    return text === undefined
      ? getSourceFile(path, ...rest)
      : ts.createSourceFile(path, text, ts.ScriptTarget.ES2024)
  }
  const program = ts.createProgram(paths, { ...options, lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'] }, host)
  return paths.map((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  )
}
