import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TESTS = [
  'bench/test',
  'cli/test',
  'conformance/test',
  'contract/test',
  'deploy/test',
  'docs/test',
  'emulator/test',
  'sdk/test',
  'service/test',
  'test-kit/test',
  'tests',
  'tools/test',
]
/** Names threats as examples. */
const THIS = 'docs/test/threats.test.ts'
const THREATS = 78
/** `threat 7`, `threats 7 and 16`, `threats 20, 21 and 22`, `threats 39 to 45`. */
const MENTION = /\bthreats? (\d+(?:(?:, | and | to )\d+)*)/gi

const rows = await readRows()
const mentioned = await readMentions()

test('every threat is listed once, in order', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: THREATS }, (_, n) => n + 1))
})

describe('each row links to tests that name its threat, or is marked as open', () => {
  test.each(rows)('threat $number: $attack', ({ number, proof, files }) => {
    if (proof.startsWith('**Open**')) return expect(files).toEqual([])
    expect(files).not.toEqual([])
    for (const file of files) {
      expect(existsSync(join(ROOT, file)), `${file} does not exist`).toBe(true)
      expect([...(mentioned.get(file) ?? [])], `${file} does not say "threat ${number}"`).toContain(number)
    }
  })
})

test('every test that names a threat is linked from its row', () => {
  const linked = new Set(rows.flatMap(({ number, files }) => files.map((file) => `${number} ${file}`)))
  const unlinked = [...mentioned].flatMap(([file, numbers]) =>
    [...numbers].map((number) => `${number} ${file}`).filter((pair) => !linked.has(pair)),
  )
  expect(unlinked).toEqual([])
})

async function readRows() {
  const text = await readFile(join(ROOT, 'docs/threats.md'), 'utf8')
  return [...text.matchAll(/^\| (\d+) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$/gm)].map(
    ([, number, attack = '', proof = '']) => ({
      number: Number(number),
      attack,
      proof,
      files: [...proof.matchAll(/\]\(\.\.\/([^)]+\.test\.ts)\)/g)].map(([, file]) => file as string),
    }),
  )
}

async function readMentions(): Promise<Map<string, Set<number>>> {
  const found = new Map<string, Set<number>>()
  for (const folder of TESTS) {
    for (const name of await readdir(join(ROOT, folder), { recursive: true })) {
      const file = join(folder, name)
      if (!name.endsWith('.test.ts') || file === THIS) continue
      const text = await readFile(join(ROOT, file), 'utf8')
      const numbers = [...text.matchAll(MENTION)].flatMap(([, list = '']) => expand(list))
      if (numbers.length > 0) found.set(file, new Set(numbers))
    }
  }
  return found
}

/** "39 to 41" is 39, 40 and 41; all other separators only list. */
function expand(list: string): number[] {
  return list.split(/, | and /).flatMap((part) => {
    const [from = 0, to = from] = part.split(' to ').map(Number)
    return Array.from({ length: to - from + 1 }, (_, n) => from + n)
  })
}
