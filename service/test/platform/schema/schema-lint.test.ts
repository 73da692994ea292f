import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readChecksums, readSqlFiles } from '../../../../tools/schema-checksums.ts'
import {
  type LintProblem,
  lintFunction,
  lintMigration,
  runSquawk,
  WRITE_ORDER,
} from '../../../../tools/schema-lint.ts'
import { effectsOf, isStronger } from '../../../src/platform/schema/statement-effects.ts'

const FOLDER = 'service/schema'
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lint-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Locks that a sale has to wait for. */
function lint(name: string, text: string): LintProblem[] {
  const effects = effectsOf(text, { tables: new Set(WRITE_ORDER), tableOfIndex: new Map() })
  const locked = effects.filter(({ lock }) => isStronger(lock, 'ROW EXCLUSIVE')).map(({ table }) => table)
  return lintMigration(name, text, locked)
}

test('every function file, and every migration after the baseline, is free of problems', async () => {
  const { migrations, functions } = await readSqlFiles()
  const baseline = (await readChecksums())?.baseline ?? 0
  const later = Object.entries(migrations).slice(baseline)
  const paths = (isTransactional: boolean) =>
    later
      .filter(([, text]) => text.startsWith('-- migrate: no-transaction') !== isTransactional)
      .map(([name]) => `${FOLDER}/tables/${name}`)
  expect([
    ...Object.entries(functions).flatMap(([path, text]) => lintFunction(path, text)),
    ...later.flatMap(([name, text]) => lint(name, text)),
    ...runSquawk([...paths(true), ...Object.keys(functions).map((path) => `${FOLDER}/functions/${path}`)], {
      isTransactional: true,
    }),
    ...runSquawk(paths(false), { isTransactional: false }),
  ]).toEqual([])
  expect(Object.keys(functions).length).toBeGreaterThan(10)
})

const HEAD = '-- Says what it does.\n-- compatible-with: 10\n'

describe('squawk refuses', () => {
  const REFUSED: readonly [string, string][] = [
    ['adding-required-field', 'alter table orders add column x text not null;'],
    ['require-concurrent-index-creation', 'create index orders_x on orders (status);'],
    ['constraint-missing-not-valid', `alter table orders add constraint orders_x check (status <> '');`],
    [
      'adding-foreign-key-constraint',
      'alter table orders add constraint orders_x foreign key (key_id) references api_keys (id);',
    ],
    ['changing-column-type', 'alter table orders alter column total_cents type numeric;'],
    ['renaming-column', 'alter table orders rename column total_cents to sum_cents;'],
    ['renaming-table', 'alter table orders rename to purchases;'],
    ['ban-drop-column', 'alter table orders drop column key_id;'],
    ['ban-drop-table', 'drop table orders;'],
    ['adding-not-nullable-field', 'alter table orders alter column cancel_reason set not null;'],
  ]
  let found: LintProblem[]
  beforeAll(async () => {
    const paths = REFUSED.map(([rule]) => join(folder, `${rule}.sql`))
    await Promise.all(REFUSED.map(([, text], n) => writeFile(paths[n] ?? '', `${HEAD}${text}\n`)))
    found = runSquawk(paths, { isTransactional: true })
  })
  test.each(REFUSED)('%s: %s', (rule) => {
    expect(found).toContainEqual(expect.objectContaining({ file: join(folder, `${rule}.sql`), rule }))
  })

  test('nothing in a file that adds as it should', async () => {
    const [file, index] = [join(folder, 'good.sql'), join(folder, 'good-index.sql')]
    await writeFile(
      file,
      `${HEAD}alter table orders add column x text;\nalter table orders add constraint orders_x check (x <> '') not valid;\n`,
    )
    await writeFile(
      index,
      `-- migrate: no-transaction\n${HEAD}create index concurrently orders_x on orders (status);\n`,
    )
    expect(runSquawk([file], { isTransactional: true })).toEqual([])
    expect(runSquawk([index], { isTransactional: false })).toEqual([])
  })
})

describe('the rules of our own', () => {
  const rulesOf = (text: string) => lint('0099_x.sql', text).map(({ rule }) => rule)
  const NEXT = `${HEAD}alter table orders add column x text;\nalter table transfers add column x text;\n`

  test('a migration that keeps them has no problem', () => {
    expect(rulesOf(NEXT)).toEqual([])
    expect(
      rulesOf(`-- migrate: no-transaction\n${HEAD}create index concurrently orders_x on orders (status);\n`),
    ).toEqual([])
  })
  test.each([
    ['compatible-with', '-- Adds x.\nalter table orders add column x text;'],
    ['head-comment', '-- compatible-with: 10\nalter table orders add column x text;'],
    ['functions-apart', `${HEAD}create or replace function f() returns int language sql as $$ select 1 $$;`],
    ['functions-apart', `${HEAD}create trigger t before update on orders execute function f();`],
    ['lock-order', `${HEAD}alter table transfers add column x text; alter table orders add column x text;`],
    ['named-columns', `${HEAD}insert into events select * from old_events;`],
    [
      'one-statement',
      `-- migrate: no-transaction\n${HEAD}drop index concurrently a; drop index concurrently b;`,
    ],
    ['no-transaction', `${HEAD}create index concurrently orders_x on orders (status);`],
  ])('a migration is refused by %s: %s', (rule, text) => {
    expect(rulesOf(text)).toEqual([rule])
  })

  const FUNCTION = [
    '-- Says what it does.',
    'create or replace function f()\nreturns int\nlanguage sql\nsecurity definer',
    'set search_path = pg_catalog, shopwire, pg_temp\nas $$ select 1; select 2 $$;',
    'alter function f owner to shopwire_functions;',
    'create or replace trigger t before update on orders for each row execute function f();',
  ].join('\n')
  const functionRules = (text: string) => lintFunction('orders/f.sql', text).map(({ rule }) => rule)

  test('a function file that keeps them has no problem', () => {
    expect(functionRules(FUNCTION)).toEqual([])
  })
  test.each([
    ['head-comment', '-- Says what it does.\n', ''],
    ['one-function', 'create or replace trigger', 'create trigger'],
    ['one-function', 'create or replace function f(', 'create or replace function g('],
    ['one-function', 'alter function', 'drop table orders; alter function'],
    ['one-function', 'alter function', 'grant execute on function f to public; alter function'],
    ['owner', 'alter function f owner to shopwire_functions;', ''],
    ['search-path', 'set search_path = pg_catalog, shopwire, pg_temp', ''],
    ['search-path', 'shopwire, pg_temp', 'shopwire'],
    ['named-columns', 'select 1', 'select * from orders'],
  ])('a function file is refused by %s: %s → %s', (rule, from, to) => {
    expect(functionRules(FUNCTION.replace(from, to))).toContain(rule)
  })
})
