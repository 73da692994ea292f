import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../src')

test('nothing but signing touches Node, so a browser can load the rest', () => {
  for (const file of readdirSync(src).filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(src, file), 'utf8')
    expect(text, file).not.toMatch(/from 'node:|from '\.\/signing/)
  }
})
