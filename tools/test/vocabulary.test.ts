import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const GLOSSARY = 'docs/glossary.md'
/** History and foreign text; and this file, which has to name the words. */
const EXCLUDED = ['CHANGELOG.md', 'LICENSE', 'package-lock.json', 'tools/test/vocabulary.test.ts']
const GLOSSARY_ROWS_MAX = 30

/** Metaphors that this project once used and that have no ordinary use in it. */
const REPLACED = [
  [/\bstanding\b/i, 'access version (of an account); valid, unchanged (of anything else)'],
  [/\b(?:bumpStanding|accounts\.standing)\b/, 'access version'],
  [/\b(?:shaky|is_shaky|isShaky)\b/i, 'failing (the last attempt failed)'],
  [/\bNotHeard\b/i, 'the error by its cause, such as ShutdownTimeoutError'],
  [/\bWorkplace\b/i, 'CommandContext'],
  [/\bDeed\b/i, 'ActionResult'],
  [/\bticket office\b/i, 'route matcher'],
  [/\bbad days?\b/i, 'failure scenario, outage'],
  [/\bhas the say\b/i, 'holds the latest fencing token'],
  [/\bladder\b/i, 'layers'],
  [/\brungs?\b/i, 'layer'],
] as const satisfies (readonly [RegExp, string])[]
const ANY = new RegExp(REPLACED.map(([{ source }]) => source).join('|'), 'i')

describe('words that were replaced', () => {
  test('occur in no tracked text file', () => {
    const files = trackedFiles()
    const found = files.flatMap((file) => findReplaced(file, textOf(file)))
    expect(files.length).toBeGreaterThan(500)
    expect(found, 'Use the term in brackets; see "Conventions" in CONTRIBUTING.md.').toEqual([])
  })

  test('are reported with file, line and the term to write instead', () => {
    const text = 'fine, upstanding\nA Shaky endpoint\nset is_shaky\n'
    expect(findReplaced('a.md', text)).toEqual([
      'a.md:2: "Shaky" [failing (the last attempt failed)]',
      'a.md:3: "is_shaky" [failing (the last attempt failed)]',
    ])
  })
})

test(`the glossary has at most ${GLOSSARY_ROWS_MAX} terms`, () => {
  const rows = read(GLOSSARY).match(/^\| (?!Term \|).*\|$/gm) ?? []
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.length, 'Remove a term before you add one, or use the industry term').toBeLessThanOrEqual(
    GLOSSARY_ROWS_MAX,
  )
})

function findReplaced(file: string, text: string): string[] {
  if (!ANY.test(text)) return []
  return text.split('\n').flatMap((line, n) =>
    REPLACED.flatMap(([word, instead]) => {
      const [match] = word.exec(line) ?? []
      return match === undefined ? [] : [`${file}:${n + 1}: "${match}" [${instead}]`]
    }),
  )
}

function trackedFiles(): string[] {
  return listFiles().filter((file) => !EXCLUDED.includes(file))
}

/** Without a repository, as in an unpacked archive, everything except what an install, a build or a run leaves behind. */
function listFiles(): string[] {
  if (existsSync(join(ROOT, '.git'))) {
    // The checkout may belong to another user than the one who runs the tests.
    const args = ['-c', 'safe.directory=*', 'ls-files', '-z']
    const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
    return listed.split('\0').filter((file) => file !== '')
  }
  return globSync('**', {
    cwd: ROOT,
    withFileTypes: true,
    exclude: ({ name }) => ['node_modules', '.data', 'coverage', 'dist', '.site'].includes(name),
  })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
}

/** Empty for a binary file, and for one that is deleted but still in the index. */
function textOf(file: string): string {
  const text = read(file)
  return text.includes('\0') ? '' : text
}

function read(file: string): string {
  try {
    return readFileSync(join(ROOT, file), 'utf8')
  } catch (error) {
    // EISDIR: a symbolic link to a folder.
    if (['ENOENT', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}
