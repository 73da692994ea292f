import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import ts from 'typescript'

/**
 * What keeps the repository easy to read, as numbers. A file, function or folder beyond them is split, or named below with the reason why it
 * is better whole.
 */
const FILE_LINES_MAX = 350
/** Of its own: a function inside another one counts for itself. */
const FUNCTION_LINES_MAX = 70
const FOLDER_FILES_MAX = 20
const DECISION_WORDS_MAX = 300
const PAGES_MAX = 78
const WORDS_MAX = 57_000
/** In Markdown, outside of code. */
const PAGE_LINE_LENGTH_MAX = 120
/** A row of a table, a picture, a link. */
const CANNOT_BREAK = /^ *(\||!?\[[^\]]*\]\(\S+\)$|\[!\[.*\)$|<img .*>$)/

const LONG_FILES: Readonly<Record<string, string>> = {
  'contract/src/dashboard/identity.ts': 'a table of routes with the schemas that they alone use',
  'contract/src/published/openapi.ts': 'one document, in the order of its parts',
  'contract/src/published/texts.ts': 'a table of texts',
  'contract/src/signature-mistakes/kinds.ts': 'a table of mistakes and what to say about them',
  'contract/src/signature-mistakes/variants.ts': 'a table of the wrong ways to make each line',
  'service/src/operations/doctor/database-checks.ts': 'a table of checks',
  'service/src/operations/doctor/store-checks.ts': 'a table of checks',
}
const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'service/src/webhooks/delivery-queries.ts recordAttempts': 'one SQL statement',
}
const FULL_FOLDERS: Readonly<Record<string, string>> = {}
const PAGES_WITH_LONG_LINES: Readonly<Record<string, string>> = {
  'docs/reference/public-names.md': 'a command with all its options is one piece of code',
}

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .trim()
  .split('\n')
const sources = files.filter(
  (file) =>
    /((^|\/)src|^web\/(apps|client|kit|lib))\/.*\.(ts|tsx|js)$/.test(file) &&
    !/\.generated\.|\.d\.ts$/.test(file),
)
// Releases write CHANGELOG.md, a paragraph on one line.
const pages = files.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')
const problems = [
  ...unlessNamed(sources.flatMap(longFile), LONG_FILES),
  ...unlessNamed(sources.filter((file) => /\.tsx?$/.test(file)).flatMap(longFunctions), LONG_FUNCTIONS),
  ...unlessNamed(fullFolders(), FULL_FOLDERS),
  ...unlessNamed(pages.flatMap(longPageLine), PAGES_WITH_LONG_LINES),
  ...longDecisions(),
  ...longDocumentation(),
]
for (const problem of problems) process.stdout.write(`${problem}\n`)
if (problems.length > 0) {
  process.stdout.write('Split it, or name it in tools/budgets.ts with the reason why it is better whole.\n')
  process.exitCode = 1
}

interface Over {
  readonly name: string
  readonly problem: string
}

/** An exception that is no longer needed is a problem too. */
function unlessNamed(over: readonly Over[], named: Readonly<Record<string, string>>): string[] {
  const names = new Set(over.map(({ name }) => name))
  return [
    ...over.filter(({ name }) => !(name in named)).map(({ problem }) => problem),
    ...Object.keys(named)
      .filter((name) => !names.has(name))
      .map((name) => `${name} keeps its budget and need not be named in tools/budgets.ts`),
  ]
}

function longFile(file: string): Over[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length
  if (lines <= FILE_LINES_MAX) return []
  return [{ name: file, problem: `${file} has ${lines} lines; at most ${FILE_LINES_MAX}` }]
}

function longFunctions(file: string): Over[] {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, kind)
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const over: Over[] = []
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const own = lineOf(node.end) - lineOf(node.getStart()) + 1 - linesInside(node.body, lineOf)
      const name = nameOf(node)
      if (own > FUNCTION_LINES_MAX)
        over.push({
          name: `${file} ${name}`,
          problem: `${file}: ${name} has ${own} lines of its own; at most ${FUNCTION_LINES_MAX}`,
        })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return over
}

/** Lines of the functions in it, without their first and last. */
function linesInside(body: ts.Node, lineOf: (position: number) => number): number {
  let lines = 0
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body)
      lines += Math.max(0, lineOf(node.end) - lineOf(node.getStart()) - 1)
    else ts.forEachChild(node, visit)
  }
  ts.forEachChild(body, visit)
  return lines
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name) return node.name.getText()
  const parent = node.parent as ts.Node & { readonly name?: ts.Node }
  return parent.name?.getText() ?? 'a function without a name'
}

function fullFolders(): Over[] {
  const counts = new Map<string, number>()
  for (const file of files.filter((one) => /(^|\/)src\/|^(bench|conformance|test-kit|tests)\//.test(one))) {
    const folder = dirname(file)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([name, count]) => ({ name, problem: `${name} has ${count} files; at most ${FOLDER_FILES_MAX}` }))
}

/** The first line that is too long: rewrapping a page shortens the others with it. */
function longPageLine(file: string): Over[] {
  let isCode = false
  const lines = readFileSync(file, 'utf8').split('\n')
  const at = lines.findIndex((line) => {
    if (/^ *```/.test(line)) isCode = !isCode
    return !isCode && line.length > PAGE_LINE_LENGTH_MAX && !CANNOT_BREAK.test(line)
  })
  if (at === -1) return []
  const problem = `${file}:${at + 1} has ${lines[at]?.length} characters; at most ${PAGE_LINE_LENGTH_MAX}`
  return [{ name: file, problem }]
}

function longDecisions(): string[] {
  return files
    .filter((file) => /^docs\/decisions\/\d{4}-.*\.md$/.test(file))
    .map((file) => ({ file, words: wordsOf(file) }))
    .filter(({ words }) => words > DECISION_WORDS_MAX)
    .map(({ file, words }) => `${file} has ${words} words; at most ${DECISION_WORDS_MAX}`)
}

function longDocumentation(): string[] {
  const inDocs = pages.filter((file) => file.startsWith('docs/'))
  const words = inDocs.reduce((sum, file) => sum + wordsOf(file), 0)
  return [
    ...(inDocs.length > PAGES_MAX ? [`docs/ has ${inDocs.length} pages; at most ${PAGES_MAX}`] : []),
    ...(words > WORDS_MAX ? [`docs/ has ${words} words; at most ${WORDS_MAX}`] : []),
  ]
}

function wordsOf(file: string): number {
  return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).length
}
