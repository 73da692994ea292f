/** Table locks of PostgreSQL, weakest first, as its documentation lists them. */
export const LOCK_MODES = [
  'ACCESS SHARE',
  'ROW SHARE',
  'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE',
  'SHARE',
  'SHARE ROW EXCLUSIVE',
  'EXCLUSIVE',
  'ACCESS EXCLUSIVE',
] as const
export type LockMode = (typeof LOCK_MODES)[number]

/**
 * What a statement does with the rows of a table while it holds the lock: nothing, reads them all, builds an index, rewrites the
 * table, changes rows. `unknown` is a statement that this file cannot parse.
 */
export type Work = 'none' | 'scan' | 'index' | 'rewrite' | 'rows' | 'unknown'

/** The effect of one statement of a migration on one table that existed before it. */
export interface Effect {
  readonly table: string
  readonly lock: LockMode
  readonly work: Work
}

/** What the statements alone do not tell. */
export interface Known {
  readonly tables: ReadonlySet<string>
  /** By name of the index. */
  readonly tableOfIndex: ReadonlyMap<string, string>
}

/**
 * The locks that a file takes, and the work it does under them, on tables that exist before it. Parsed from the text: running the
 * file to find out would take the locks. A statement that is not recognised counts as the strongest lock on every table that it
 * names. A test compares the result for every migration with what PostgreSQL really locks. PostgreSQL's own parser (libpg-query,
 * 1.8 MB) would return a tree without locks, so the tables below would stay; squawk reports broken rules, not which table is locked
 * how.
 */
export function effectsOf(text: string, known: Known): Effect[] {
  return statementsOf(text)
    .flatMap((statement) => effectsOfStatement(statement, known))
    .filter(({ table }) => known.tables.has(table))
}

/** Which locks of other sessions a request for this one has to wait for. */
export function conflictsWith(mode: LockMode): readonly LockMode[] {
  const all = LOCK_MODES
  return {
    'ACCESS SHARE': all.slice(7),
    'ROW SHARE': all.slice(6),
    'ROW EXCLUSIVE': all.slice(4),
    'SHARE UPDATE EXCLUSIVE': all.slice(3),
    SHARE: [...all.slice(2, 4), ...all.slice(5)],
    'SHARE ROW EXCLUSIVE': all.slice(2),
    EXCLUSIVE: all.slice(1),
    'ACCESS EXCLUSIVE': all.slice(),
  }[mode]
}

/** What other sessions cannot do with the table meanwhile. */
export function blockedBy(mode: LockMode): 'nothing' | 'writes' | 'reads and writes' {
  if (mode === 'ACCESS EXCLUSIVE') return 'reads and writes'
  return conflictsWith(mode).includes('ROW EXCLUSIVE') ? 'writes' : 'nothing'
}

export function isStronger(one: LockMode, other: LockMode): boolean {
  return LOCK_MODES.indexOf(one) > LOCK_MODES.indexOf(other)
}

type Reading = readonly [form: RegExp, read: (found: RegExpExecArray, known: Known) => readonly Effect[]]

const NAME = '(?:shopwire\\.)?"?(\\w+)"?'
const READINGS: readonly Reading[] = [
  [form(`alter table (?:if exists )?(?:only )?${NAME} (.*)`), ([, table, rest]) => ofAlterTable(table, rest)],
  [form('create (?:unlogged |temporary )?table (.*)'), ([, rest]) => ofReferences(rest)],
  [
    form(`create (?:unique )?index (concurrently )?.*?\\bon (?:only )?${NAME}`),
    ([, concurrently, table]) => [effect(table, concurrently ? 'SHARE UPDATE EXCLUSIVE' : 'SHARE', 'index')],
  ],
  [
    form(`drop index (concurrently )?(?:if exists )?${NAME}`),
    ([, concurrently, index = ''], { tableOfIndex }) => [
      effect(tableOfIndex.get(index), concurrently ? 'SHARE UPDATE EXCLUSIVE' : 'ACCESS EXCLUSIVE'),
    ],
  ],
  [form(`(?:drop table|truncate(?: table)?) (?:if exists )?${NAME}`), ([, table]) => [effect(table)]],
  [form(`(?:create|alter|drop) policy .*?\\bon ${NAME}`), ([, table]) => [effect(table)]],
  [
    form(`create (?:or replace )?(?:constraint )?trigger .*? on ${NAME}`),
    ([, table]) => [effect(table, 'SHARE ROW EXCLUSIVE')],
  ],
  [form(`insert into ${NAME}`), ([, table]) => [effect(table, 'ROW EXCLUSIVE')]],
  [form(`(?:update|delete from) (?:only )?${NAME}`), ([, table]) => [effect(table, 'ROW EXCLUSIVE', 'rows')]],
  [form(`comment on (?:table|column) ${NAME}`), ([, table]) => [effect(table, 'SHARE UPDATE EXCLUSIVE')]],
  // No lock on a table that another session could wait for.
  [form('(?:grant|revoke|create (?:or replace )?function|drop function|create type|comment on) '), () => []],
]

function effectsOfStatement(statement: string, known: Known): readonly Effect[] {
  for (const [shape, read] of READINGS) {
    const found = shape.exec(statement)
    if (found) return read(found, known)
  }
  const words = new Set(statement.match(/\w+/g))
  return [...known.tables]
    .filter((table) => words.has(table))
    .map((table) => effect(table, undefined, 'unknown'))
}

/** Forms of ALTER TABLE that need only a weaker lock, or that have to read every row. Any other changes only the catalogue. */
const ALTERATIONS: readonly (readonly [RegExp, LockMode, Work])[] = [
  [form('validate constraint '), 'SHARE UPDATE EXCLUSIVE', 'scan'],
  [form('(?:set|reset) ?\\('), 'SHARE UPDATE EXCLUSIVE', 'none'],
  [form('alter (?:column )?\\w+ (?:set statistics|(?:set|reset) ?\\()'), 'SHARE UPDATE EXCLUSIVE', 'none'],
  [form('add (?:constraint \\w+ )?foreign key .* not valid'), 'SHARE ROW EXCLUSIVE', 'none'],
  [form('add (?:constraint \\w+ )?foreign key '), 'SHARE ROW EXCLUSIVE', 'scan'],
  [form('add constraint .* using index '), 'ACCESS EXCLUSIVE', 'scan'],
  [form('add (?:constraint \\w+ )?(?:primary key|unique|exclude) '), 'ACCESS EXCLUSIVE', 'index'],
  [form('add (?:constraint \\w+ )?check .* not valid'), 'ACCESS EXCLUSIVE', 'none'],
  [form('add (?:constraint \\w+ )?check '), 'ACCESS EXCLUSIVE', 'scan'],
  [form('alter (?:column )?\\w+ set not null'), 'ACCESS EXCLUSIVE', 'scan'],
  [form('alter (?:column )?\\w+ (?:set data )?type '), 'ACCESS EXCLUSIVE', 'rewrite'],
  [form('set (?:logged|unlogged|tablespace|access method)'), 'ACCESS EXCLUSIVE', 'rewrite'],
  [form('add (?:column )?.*\\bgenerated '), 'ACCESS EXCLUSIVE', 'rewrite'],
  [form('add (?:column )?.*\\b(?:small|big)?serial\\b'), 'ACCESS EXCLUSIVE', 'rewrite'],
  // A default that calls a function may differ from row to row; the current time is the same for all of them.
  [form('add (?:column )?.*\\bdefault (?!now\\(|nullif\\()\\w+ ?\\('), 'ACCESS EXCLUSIVE', 'rewrite'],
  [form('add (?:column )?.*\\b(?:unique|primary key)\\b'), 'ACCESS EXCLUSIVE', 'index'],
  [form('add (?:column )?.*\\b(?:check|references)\\b'), 'ACCESS EXCLUSIVE', 'scan'],
]

function ofAlterTable(table: string | undefined, rest = ''): Effect[] {
  return splitOutside(rest, ',').flatMap((part) => {
    const [, lock, work] = ALTERATIONS.find(([shape]) => shape.test(part)) ?? []
    return [effect(table, lock, work), ...ofReferences(part)]
  })
}

/** A foreign key also locks the table it refers to, which gets triggers. */
function ofReferences(text = ''): Effect[] {
  const found = text.matchAll(new RegExp(`\\breferences ${NAME}`, 'gi'))
  return [...found].map(([, table]) => effect(table, 'SHARE ROW EXCLUSIVE'))
}

function effect(table: string | undefined, lock: LockMode = 'ACCESS EXCLUSIVE', work: Work = 'none'): Effect {
  return { table: table ?? '', lock, work }
}

function form(pattern: string): RegExp {
  return new RegExp(`^${pattern}`, 'is')
}

/** Without comments, each on one line. */
function statementsOf(text: string): string[] {
  return splitOutside(text.replace(/--.*$/gm, ''), ';')
}

/** Splits where the separator is outside quotes, dollar quotes and parentheses. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = []
  let [depth, from] = [0, 0]
  // A quoted text is one token; its contents are skipped.
  for (const { 0: token, index } of text.matchAll(/\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|[(),;]/gs)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token !== separator || depth !== 0) continue
    parts.push(text.slice(from, index))
    from = index + 1
  }
  parts.push(text.slice(from))
  return parts.map((part) => part.trim().replace(/\s+/g, ' ')).filter((part) => part !== '')
}
