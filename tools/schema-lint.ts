import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

/** A file that would harm running stores, or that the next reader would not understand, and what to do about it. */
export interface LintProblem {
  readonly file: string
  readonly rule: string
  readonly message: string
}

/** In the order in which an order touches them. A file that locks them otherwise waits for sales that wait for it. */
export const WRITE_ORDER = [
  'accounts',
  'balances',
  'orders',
  'order_lines',
  'transfers',
  'events',
  'deliveries',
  'jobs',
]
const STAR = /\b(?:select|returning|distinct|all)\s+\*|,\s*\*|\b\w+\.\*/i
/** PostgreSQL does not put a function with settings into the statement that calls it. Their tables are written with their schema. */
const INLINED = ['price_cart']
const NO_TRANSACTION = '-- migrate: no-transaction\n'
const require = createRequire(import.meta.url)
const ROOT = join(import.meta.dirname, '..')

/** Rules for a migration after the baseline, besides those of squawk. `locked`: the tables that it locks, statement by statement. */
export function lintMigration(file: string, text: string, locked: readonly string[]): LintProblem[] {
  const problem = (rule: string, message: string) => ({ file, rule, message })
  const statements = statementsOf(text)
  const places = locked.map((table) => WRITE_ORDER.indexOf(table)).filter((place) => place >= 0)
  return [
    !/^-- compatible-with: \d+$/m.test(text) &&
      problem(
        'compatible-with',
        'Add "-- compatible-with: <version>": the oldest version whose programs still work once this file is applied. ' +
          'A file that only adds says the version before it; one that removes says the first version that no longer uses what it removes.',
      ),
    !/^-- (?!(?:migrate|compatible-with|needed): )\S/m.test(text) &&
      problem('head-comment', 'Say in a comment at the top what the file does and why.'),
    statements.some((one) => /^create (or replace )?(function|procedure|trigger)\b/i.test(one)) &&
      problem(
        'functions-apart',
        'Put functions and triggers into service/schema/functions/<module>/<name>.sql.',
      ),
    places.some((place, n) => place < (places[n - 1] ?? -1)) &&
      problem(
        'lock-order',
        `Alter tables in the order in which an order touches them: ${WRITE_ORDER.join(', ')}.`,
      ),
    STAR.test(withoutComments(text)) && problem('named-columns', 'Name the columns instead of *.'),
    text.startsWith(NO_TRANSACTION) &&
      statements.length !== 1 &&
      problem(
        'one-statement',
        'Outside a transaction a file holds one statement; give each of the others a file.',
      ),
    /\bconcurrently\b/i.test(withoutComments(text)) &&
      !text.startsWith(NO_TRANSACTION) &&
      problem(
        'no-transaction',
        'Begin the file with "-- migrate: no-transaction" and leave it that one statement: PostgreSQL refuses it inside a transaction.',
      ),
  ].filter((one) => one !== false)
}

/** Rules for every function file. */
export function lintFunction(file: string, text: string): LintProblem[] {
  const problem = (rule: string, message: string) => ({ file, rule, message })
  const name = basename(file, '.sql')
  const statements = statementsOf(text)
  const allowed = [
    new RegExp(`^create or replace function ${name}\\(`, 'i'),
    new RegExp(`^alter function ${name} owner to shopwire_(functions|maintenance)$`, 'i'),
    new RegExp(`^create or replace trigger .* execute function ${name}\\(\\)$`, 'is'),
  ]
  return [
    !text.startsWith('-- ') &&
      problem('head-comment', 'Say in a comment at the top what the function does and why.'),
    statements.some((one) => !allowed.some((form) => form.test(one))) &&
      problem(
        'one-function',
        `Only "create or replace function ${name}(…)", its owner and its triggers ("create or replace trigger") belong here. Who may call it is in service/schema/rights.`,
      ),
    statements.filter((one) => allowed[0]?.test(one)).length !== 1 &&
      problem('one-function', `The file holds exactly one function, named ${name} like the file.`),
    /\bsecurity definer\b/i.test(withoutComments(text)) &&
      !statements.some((one) => allowed[1]?.test(one)) &&
      problem(
        'owner',
        `A function with its owner's rights belongs to a role that nobody signs in as: add "alter function ${name} owner to shopwire_functions;".`,
      ),
    !/^set search_path = pg_catalog, shopwire, pg_temp$/m.test(text) &&
      !INLINED.includes(name) &&
      problem(
        'search-path',
        'Add "set search_path = pg_catalog, shopwire, pg_temp": otherwise a caller chooses the tables, by a temporary one of the same name.',
      ),
    STAR.test(withoutComments(text)) && problem('named-columns', 'Name the columns instead of *.'),
  ].filter((one) => one !== false)
}

/** What squawk finds in these files, by the rules of .squawk.toml. */
export function runSquawk(
  paths: readonly string[],
  { isTransactional }: { isTransactional: boolean },
): LintProblem[] {
  if (paths.length === 0) return []
  const program = join(require.resolve('squawk-cli/package.json'), '../js/bin/squawk')
  const args = ['--config', join(ROOT, '.squawk.toml'), '--reporter', 'json']
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [program, ...args, ...(isTransactional ? ['--assume-in-transaction'] : []), ...paths],
    { cwd: ROOT, encoding: 'utf8' },
  )
  let found: { file: string; rule_name: string; message: string; help: string | null }[]
  try {
    found = JSON.parse(stdout)
  } catch (error) {
    throw new Error(`squawk did not run: ${stderr}. Run "npm ci", which installs it.`, { cause: error })
  }
  return found.map(({ file, rule_name, message, help }) => ({
    file,
    rule: rule_name,
    message: `${message} ${help ?? ''}`.trim(),
  }))
}

/** Without comments; what stands between dollar quotes is left out. */
function statementsOf(text: string): string[] {
  return withoutComments(text)
    .replace(/\$(\w*)\$.*?\$\1\$/gs, '$$$$')
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

function withoutComments(text: string): string {
  return text.replace(/--.*$/gm, '')
}
