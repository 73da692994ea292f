import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { FULL_ONLY, FULL_ONLY_TESTS, KEPT } from '../../test-forms.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SKIPPED = /^(node_modules|\.data|dist|\.git)$/
const LINKED_TEST = /\]\(\.\.\/([^)]+\.test\.ts)\)/g

const [full, short, onDisk] = await Promise.all([
  filesOf({}),
  filesOf({ SHOPWIRE_E2E_SHORT: '1' }),
  findTests(),
])

test('the full form runs every test file of the repository', () => {
  expect(full).toEqual(onDisk)
})

test('the short form runs every test file but those listed, which all exist', () => {
  expect(short).toEqual(full.filter((file) => !(file in FULL_ONLY)))
  expect(Object.keys(FULL_ONLY).filter((file) => !full.includes(file))).toEqual([])
})

test('the files of which the short form leaves out some tests are those listed, and it runs them', async () => {
  const texts = await Promise.all(full.map((file) => readFile(join(ROOT, file), 'utf8')))
  // Spelt in two parts, so that this file is not found.
  const leavesOut = `skipIf(${'IS_SHORT'})`
  const found = full.filter((_, n) => texts[n]?.includes(leavesOut))
  expect(found).toEqual(Object.keys(FULL_ONLY_TESTS).sort())
  expect(found.filter((file) => !short.includes(file))).toEqual([])
})

test('every threat has its tests in the full form, and all but these one in the short form too', async () => {
  const threats = (await readThreats()).filter(({ isOpen }) => !isOpen)
  expect(threats.length).toBeGreaterThan(0)
  expect(threats.flatMap(({ files }) => files.filter((file) => !full.includes(file)))).toEqual([])
  const isInShort = (file: string) => short.includes(file)
  const left = threats.filter(({ files }) => !files.some(isInShort)).map(({ number }) => number)
  // A standby that stands still, skewed clocks, receivers and name servers that hang: all wait for deadlines. Keys rotated under load.
  expect(left).toEqual([8, 12, 19, 55, 56, 65])
})

describe('the short form keeps', () => {
  test.each(Object.entries(KEPT))('%s: %s', (_, file) => {
    expect(short).toContain(file)
  })
})

/** As vitest finds them with these variables. */
async function filesOf(settings: Readonly<Record<string, string>>): Promise<string[]> {
  const { SHOPWIRE_E2E_SHORT: _, ...inherited } = process.env
  const { stdout } = await promisify(execFile)('npx', ['vitest', 'list', '--filesOnly', '--json'], {
    cwd: ROOT,
    env: { ...inherited, ...settings },
    maxBuffer: 16 * 1024 * 1024,
  })
  const listed = JSON.parse(stdout.slice(stdout.indexOf('['))) as { file: string }[]
  return listed.map(({ file }) => relative(ROOT, file)).sort()
}

async function findTests(folder = ROOT): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : findTests(path)
      return entry.name.endsWith('.test.ts') ? [relative(ROOT, path)] : []
    }),
  )
  return found.flat().sort()
}

async function readThreats() {
  const text = await readFile(join(ROOT, 'docs/threats.md'), 'utf8')
  return [...text.matchAll(/^\| (\d+) \|.*\| ([^|]+) \|$/gm)].map(([, number, proof = '']) => ({
    number: Number(number),
    isOpen: proof.startsWith('**Open**'),
    files: [...proof.matchAll(LINKED_TEST)].map(([, file]) => file as string),
  }))
}
