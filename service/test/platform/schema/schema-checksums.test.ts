import { expect, test } from 'vitest'
import {
  nextChecksums,
  readChecksums,
  readSqlFiles,
  type SqlFiles,
  signatureOf,
} from '../../../../tools/schema-checksums.ts'

test('no recorded SQL file has changed or vanished, and none is missing from the record', async () => {
  const recorded = await readChecksums()
  expect(
    nextChecksums(recorded, await readSqlFiles()),
    'Run "npm run generate" and commit the change.',
  ).toEqual(recorded)
})

const FUNCTION = 'create or replace function f(p_a int)\nreturns int\nlanguage sql as $$ select 1 $$;'
const files: SqlFiles = {
  migrations: { '0001_a.sql': 'create table a (id int);', '0002_b.sql': 'create table b (id int);' },
  functions: { 'orders/f.sql': FUNCTION },
  rights: 'a select',
}
const recorded = nextChecksums(undefined, files)
const withMigration = (text: string, from = files): SqlFiles => ({
  ...from,
  migrations: { ...from.migrations, '0003_c.sql': text },
})
const withFunction = (text: string, from = files): SqlFiles => ({
  ...from,
  functions: { 'orders/f.sql': text },
})
const next = (changed: SqlFiles) => nextChecksums(recorded, changed)

test('a new migration is added to the record, and the baseline stays what it was', () => {
  const { baseline, migrations } = next(withMigration('select 1'))
  expect(baseline).toBe(2)
  expect(migrations).toEqual({
    ...recorded.migrations,
    '0003_c.sql': expect.stringMatching(/^[0-9a-f]{64}$/),
  })
})

test('a recorded migration that changed or is gone is refused, with what to do', () => {
  const changed = {
    ...files,
    migrations: { ...files.migrations, '0002_b.sql': 'create table b (id bigint);' },
  }
  expect(() => next(changed)).toThrow(
    /0002_b.sql changed after it was recorded.*put the change into the next migration/,
  )
  const { '0002_b.sql': _, ...rest } = files.migrations
  expect(() => next({ ...files, migrations: rest })).toThrow(/0002_b.sql is gone after it was recorded/)
})

test('a function may change together with a new migration, and not without', () => {
  const changed = withFunction(FUNCTION.replace('select 1', 'select 2'))
  expect(() => next(changed)).toThrow(/orders\/f.sql changed, and there is no migration after.*add one/)
  expect(next(withMigration('-- f answers 2', changed)).functions['orders/f.sql']).toMatchObject({
    version: 3,
  })
})

test('the rights may change together with a new migration, and not without', () => {
  const changed = { ...files, rights: 'a select, insert' }
  expect(() => next(changed)).toThrow(/schema\/rights changed, and there is no migration after.*add one/)
  expect(next(withMigration('-- more rights', changed)).rights.version).toBe(3)
})

test('a function may not change its arguments or its result', () => {
  for (const [from, to] of [
    ['p_a int', 'p_a int, p_b int'],
    ['returns int', 'returns text'],
  ] as const) {
    const changed = withMigration('-- new', withFunction(FUNCTION.replace(from, to)))
    expect(() => next(changed)).toThrow(/changed its arguments or its result.*a name and a file of its own/)
  }
})

test('a function may vanish only with a migration that drops it', () => {
  const gone = { ...files, functions: {} }
  expect(() => next(withMigration('-- nothing', gone))).toThrow(
    /no later migration has "drop function if exists f"/,
  )
  expect(next(withMigration('drop function if exists f;', gone)).functions).toEqual({})
})

test('comments and line ends are no part of a signature', () => {
  expect(signatureOf(`-- head\n${FUNCTION.replace('language', '-- why\nlanguage')}`)).toBe(
    'f(p_a int) returns int',
  )
})
