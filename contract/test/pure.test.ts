import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const NEEDS_NODE = /^(csv|signing|signature-mistakes)\//
const src = join(import.meta.dirname, '../src')

test('only csv, signing and signature-mistakes import from Node, so a browser can load the rest', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts') && !NEEDS_NODE.test(name))) {
    const text = readFileSync(join(src, file), 'utf8')
    expect(text, file).not.toMatch(/from 'node:|from '\.\.?\/(csv|signing|signature-mistakes)\//)
  }
})
