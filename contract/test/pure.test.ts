import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../src')

test('nothing but signing touches Node, so a browser can load the rest', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.startsWith('signing'))) {
    const text = readFileSync(join(src, file), 'utf8')
    expect(text, file).not.toMatch(/from 'node:|from '\.\.?\/signing/)
  }
})
