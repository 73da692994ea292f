import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { itemTypes } from '@shopwire/contract'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EXIT, runAdmin } from '../../src/admin/program.ts'
import type { CommandContext } from '../../src/admin/terminal/command-context.ts'
import { readCatalogueFile } from '../../src/catalogue/file/catalogue-file.ts'
import { type FileFormat, fileFormats } from '../../src/catalogue/file/file-items.ts'
import { compareCatalogue, importCatalogue } from '../../src/catalogue/import.ts'
import { type ItemFacts, selectItem, selectRevision } from '../../src/catalogue/queries.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { createReads } from '../../src/operations/reads/index.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { testKeyring } from '../../testing/shop.ts'

const HEADER = 'id,name,type,collection,price_cents,image,available_until,for_sale'
const IS_LONG = process.env.SHOPWIRE_LONG === '1'

let folder: string
let database: TestDatabase
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-import-'))
})
afterAll(() => rm(folder, { recursive: true }))
/** Reading a file needs none. */
function openDatabaseForEach() {
  beforeEach(async () => {
    database = await openTestDatabase()
  })
  afterEach(() => database.close())
}

describe('a file', () => {
  test.each([
    ['number', '123456789012345678', 'is a number. Write it in quotes'],
    ['small number', '12', 'is a number. Write it in quotes'],
    ['exponent', '1.23457E+17', 'is a number. Write it in quotes'],
    ['scientific', '"1.23457E+17"', 'scientific notation'],
    ['scientific with a comma', '"1,23457E+17"', 'scientific notation'],
    ['decimal point', '"123456789012345678.0"', 'decimal point'],
    ['thousands', '"123,456,789,012,345,678"', 'thousands separators'],
    ['thousands by dots', '"123.456.789.012.345.678"', 'thousands separators'],
    ['thousands by spaces', '"123 456 789 012 345 678"', 'thousands separators'],
    ['apostrophe', '"\'123456789012345678"', 'apostrophe'],
    ['formula', '"=\\"123456789012345678\\""', 'apostrophe'],
    ['too short', '"1234567890123456"', 'has 16 digits; an id has 17 to 20 digits'],
    ['too long', '"123456789012345678901"', 'has 21 digits; an id has 17 to 20 digits'],
    ['other digits', '"１２３４５６７８９０１２３４５６７８"', 'must be 17 to 20 digits and nothing else'],
    ['negative', '"-12345678901234567"', 'must be 17 to 20 digits and nothing else'],
    ['empty', '""', 'the id is missing'],
    ['null', 'null', 'the id is missing'],
  ])('in JSON is refused for an invalid id: %s', (_what, id, reason) => {
    const good = JSON.stringify(jsonItem('11111111111111111'))
    const text = `[${good},{"id":${id},"name":"a","type":"frame","collection":"c","price_cents":1}]`
    expect(complaint(text)).toContain(`item 2: `)
    expect(complaint(text)).toContain(reason)
  })

  test.each([
    ['1.23457E+17', 'scientific notation'],
    ['"1,23457E+17"', 'scientific notation'],
    ['123456789012345678.0', 'decimal point'],
    ['"123,456,789,012,345,678"', 'thousands separators'],
    ["123'456'789'012'345'678", 'thousands separators'],
    ["'123456789012345678", 'apostrophe'],
    ['="123456789012345678"', 'apostrophe'],
    ['"""123456789012345678"""', 'apostrophe'],
    ['1234567890123456', 'has 16 digits'],
    ['', 'the id is missing'],
  ])('in CSV is refused for an invalid id: %s', (id, reason) => {
    const text = `${HEADER}\n11111111111111111,a,frame,c,1,,,\n${id},a,frame,c,1,,,\n`
    expect(complaint(text)).toContain('line 3: ')
    expect(complaint(text)).toContain(reason)
  })

  test('with ids that a spreadsheet may have rounded is refused when there are many, and only then', () => {
    const rounded = ['123456789012345000', '223456789012345000', '323456789012345000']
    const exact = (count: number) =>
      Array.from({ length: count }, (_, n) => `4${String(n + 1).padStart(17, '0')}1`)
    const file = (ids: string[]) => `${HEADER}\n${ids.map((id) => `${id},a,frame,c,1,,,\n`).join('')}`
    expect(complaint(file([...rounded, ...exact(20)]))).toMatch(
      /3 ids have nothing but zeros.*line 2.*as text/,
    )
    expect(read(file([...rounded.slice(1), ...exact(2)])).warnings).toEqual([
      expect.stringMatching(/^2 ids have nothing but zeros after the 15th digit \(line 2 and others\)/),
    ])
    expect(read(file([...exact(40), ...rounded])).warnings).toHaveLength(1)
    expect(read(file(exact(5))).warnings).toEqual([])
    // Leading zeros are not significant digits: nothing was rounded here.
    expect(read(file(['00000000000000001', '00000000000000020'])).warnings).toEqual([])
    expect(read(JSON.stringify(rounded.map((id) => jsonItem(id)))).warnings).toEqual([])
  })

  test('with an id twice is refused, naming both places', () => {
    const [id, other] = ['11111111111111111', '22222222222222222']
    const csv = `${HEADER}\n${[id, other, id].map((each) => `${each},a,frame,c,1,,,`).join('\n')}`
    expect(complaint(csv)).toContain(`line 4: the id ${id} appears in line 2 already`)
    const json = JSON.stringify([id, other, id].map((each) => jsonItem(each)))
    expect(complaint(json)).toContain(`item 3: the id ${id} appears in item 1 already`)
  })

  const columnProblems: [string, string, string][] = [
    ['price_cents', '1.99', 'looks like dollars. It is whole cents: 199 for $1.99'],
    ['price_cents', '$1.99', 'looks like dollars'],
    ['price_cents', '"1,99"', 'looks like dollars'],
    ['price_cents', '-1', 'must be whole cents'],
    ['price_cents', '1e2', 'must be whole cents'],
    ['price_cents', '007', 'must be whole cents'],
    ['price_cents', '', 'price_cents is missing'],
    ['price_cents', '100000001', 'is more than 100000000'],
    ['name', '', 'name is missing'],
    ['name', 'x'.repeat(201), 'name has 201 characters'],
    ['name', '"a\nb"', 'control characters or a line break'],
    ['name', 'a\u001bb', 'control characters'],
    ['name', '5" frame', 'quote inside a field without quotes'],
    ['collection', '', 'collection is missing'],
    ['collection', '😀'.repeat(201), 'collection has 201 characters'],
    ['type', 'hat', 'must be one of decoration, effect, nameplate, frame, bundle'],
    ['type', '', 'type is missing'],
    ['image', '/a.png', 'must be a whole address'],
    ['image', 'ftp://img.example/a.png', 'must be a whole address'],
    ['image', 'https://', 'must be a whole address'],
    ['image', 'https://img.example/a b.png', 'must be a whole address'],
    ['image', `https://img.example/${'a'.repeat(2_000)}`, 'more than 2000 characters'],
    ['available_until', '2026-12-31', 'must be a date and time with its offset'],
    ['available_until', '2026-12-31T23:59:59', 'must be a date and time with its offset'],
    ['available_until', '2026-12-31 23:59:59Z', 'must be a date and time with its offset'],
    ['available_until', '2026-02-29T00:00:00Z', 'must be a date and time with its offset'],
    ['available_until', '2026-13-01T00:00:00Z', 'must be a date and time with its offset'],
    ['available_until', '9999-12-31T23:59:59-01:00', 'must be a date and time with its offset'],
    ['for_sale', 'yes', 'must be true or false'],
  ]
  test.each(columnProblems)('is refused for %s %j', (column, cell, reason) => {
    const cells: Record<string, string> = {
      ...{ id: '11111111111111111', name: 'a', type: 'effect', collection: 'c', price_cents: '1' },
      [column]: cell,
    }
    const line = HEADER.split(',').map((name) => cells[name] ?? '')
    expect(complaint(`${HEADER}\n${line.join(',')}\n`)).toMatch(
      /^The file has a problem; nothing was changed\.\n {2}line 2: /,
    )
    expect(complaint(`${HEADER}\n${line.join(',')}\n`)).toContain(reason)
  })

  test.each([
    [{ price_cents: '199' }, 'price_cents must be a number of cents'],
    [{ price_cents: 1.5 }, 'looks like dollars'],
    [{ name: ' a' }, 'begins or ends with a space'],
    [{ name: 'a\u0007' }, 'control characters'],
    [{ name: 7 }, 'name must be text in quotes'],
    [{ for_sale: 'true' }, 'for_sale must be true or false'],
    [{ type: 'frame', image: 'https://img.example/a.png' }, 'image must be empty for a frame'],
    [{ image: ['a'] }, 'image must be text in quotes'],
    [{ pricecents: 5 }, 'the member "pricecents" is unknown; did you mean "price_cents"?'],
    [{ Name: 'a' }, 'the member "Name" is unknown; did you mean "name"?'],
    [{ stock: null }, 'the member "stock" is unknown.'],
    [{ __proto__x: 1 }, 'is unknown'],
  ])('in JSON is refused for %j', (members, reason) => {
    expect(complaint(JSON.stringify([{ ...jsonItem('11111111111111111'), ...members }]))).toContain(
      `item 1: `,
    )
    expect(complaint(JSON.stringify([{ ...jsonItem('11111111111111111'), ...members }]))).toContain(reason)
  })

  test.each([
    ['a price in scientific notation', '[{"price_cents":1e2}]', 'must be whole cents'],
    ['a member twice', '[{"id":"1","id":"2"}]', 'The name "id" appears twice'],
    ['an item that is not an object', '[7]', 'item 1: is not an object'],
    ['no list', '{"things":[]}', 'expected the name "items" at line 1'],
    ['more than the list', '{"items":[],"more":1}', 'expected "}" at line 1'],
    [
      'something after the list',
      '[]\n[]',
      'expected one JSON value and nothing after it at line 2, character 1',
    ],
    ['a truncated file', '[{"id":"11111111111111111"', 'expected "," or "}"'],
    ['depth', `[${'['.repeat(20)}`, 'more than 8 levels'],
  ])('that is not strict JSON is refused: %s', (_what, text, reason) => {
    expect(complaint(text)).toContain(reason)
  })

  test.each([
    [
      'an unknown column',
      'id,name,type,collection,prices',
      'the column "prices" is unknown; did you mean "price_cents"?',
    ],
    ['an unknown column unlike any other', `${HEADER},colour`, 'the column "colour" is unknown.'],
    ['a missing column', 'id,name,type', 'the header lacks collection, price_cents'],
    ['a column twice', `${HEADER},name`, 'the column "name" stands twice'],
    ['semicolons', HEADER.replaceAll(',', ';'), 'Save the file with commas'],
    ['a short line', `${HEADER}\n11111111111111111,a,frame`, 'line 2: has 3 fields where the header has 8'],
    [
      'an open quote',
      `${HEADER}\n\n11111111111111111,"a,frame\n`,
      'line 3: a quoted field begins here and never ends',
    ],
    [
      'text after a quote',
      `${HEADER}\n11111111111111111,"a"b,frame,c,1,,,\n`,
      'line 2: there is text after a closing quote',
    ],
  ])('in CSV is refused for %s', (_what, text, reason) => {
    expect(complaint(text)).toContain(reason)
  })

  test('that is not UTF-8, or is empty, is refused', () => {
    expect(complaint(Buffer.from(HEADER, 'utf16le'), 'csv')).toContain('not UTF-8')
    expect(complaint(Buffer.from('\ufeffid', 'utf16le'))).toContain('not UTF-8')
    expect(complaint(Buffer.from(`${HEADER}\n11111111111111111,é`, 'latin1'))).toContain('not UTF-8')
    expect(complaint(' \n')).toContain('The file is empty')
  })

  test('is refused with all its problems at once, the first fifty in full', () => {
    const lines = Array.from({ length: 60 }, (_, n) => `${n},,frame,c,1.99,,,`)
    const message = complaint(`${HEADER}\n${lines.join('\n')}`)
    expect(message).toMatch(/^The file has 180 problems; nothing was changed\./)
    expect(message.split('\n')).toHaveLength(52)
    expect(message).toMatch(/\n {2}and 130 more$/)
  })

  test('may start with a byte order mark, use either line end and quote any field', () => {
    const csv = `\ufeff${HEADER}\r\n11111111111111111," a ""b"", c ",frame,e\u0301,5,,2026-12-31T18:00:00-05:00,FALSE\r\n,,,,,,,\r\n\r\n`
    const wanted = itemOf('11111111111111111', {
      ...{ name: 'a "b", c', type: 'frame', collection: 'é', price_cents: 5, is_for_sale: false },
      available_until: new Date('2026-12-31T23:00:00Z'),
    })
    expect([...read(csv).items.values()]).toEqual([wanted])
    const { is_for_sale, ...facts } = wanted
    const json = `\ufeff{"items":[${JSON.stringify({ ...facts, collection: 'e\u0301', for_sale: false })}]}`
    expect([...read(json).items.values()]).toEqual([wanted])
    expect(is_for_sale).toBe(false)
  })

  test('may omit columns that have a default, and name its columns in any order', () => {
    const wanted = itemOf('11111111111111111', { name: 'a', collection: 'c', price_cents: 0 })
    expect([
      ...read('price_cents,type,id,collection,name\n0,decoration,11111111111111111,c,a').items.values(),
    ]).toEqual([wanted])
    const json =
      '[{"id":"11111111111111111","name":"a","type":"decoration","collection":"c","price_cents":0,"image":null}]'
    expect([...read(json).items.values()]).toEqual([wanted])
  })
})

describe('an import', () => {
  openDatabaseForEach()

  const [one, two, three] = ['11111111111111111', '22222222222222222', '33333333333333333'] as const

  test('adds, changes, takes from sale and puts back on sale, in one revision', async () => {
    await putItems(database.operator, [itemOf(one), itemOf(two), itemOf(three, { is_for_sale: false })])
    const { revision: before } = await selectRevision(database.owner)
    const fresh = '44444444444444444'
    const file = await fileOf([itemOf(one, { price_cents: 250, name: 'One' }), itemOf(three), itemOf(fresh)])

    const printed = await admin('catalogue', 'import', file)
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    expect(printed.stdout.split('\n')).toEqual([
      'Added: 1',
      `  ${fresh} Item ${fresh}, $1.00`,
      'Changed: 1',
      `  ${one} One: name "Item ${one}" → "One", price $1.00 → $2.50`,
      'Taken from sale: 1',
      `  ${two} Item ${two} (not in the file)`,
      'Back on sale: 1',
      `  ${three} Item ${three}`,
      'Unchanged: 0',
      `Done; the catalogue is at revision ${before + 1}.`,
      '',
    ])
    expect(await everything()).toMatchObject([
      { id: one, name: 'One', price_cents: 250, is_for_sale: true, revision: before + 1 },
      { id: two, is_for_sale: false, revision: before + 1 },
      { id: three, is_for_sale: true, revision: before + 1 },
      { id: fresh, is_for_sale: true, revision: before + 1 },
    ])
    expect(await lastAction()).toMatchObject({
      action: 'catalogue.import',
      target: 'catalogue',
      details: {
        added: 1,
        changed: 1,
        taken_from_sale: 1,
        back_on_sale: 1,
        unchanged: 0,
        revision: before + 1,
      },
    })
  })

  test('repeated changes nothing and creates no revision', async () => {
    const file = await fileOf([
      itemOf(one),
      itemOf(two, { available_until: new Date('2030-01-01T00:00:00Z') }),
    ])
    await admin('catalogue', 'import', file)
    const before = await everything()
    const { stdout } = await admin('catalogue', 'import', file)
    expect(stdout).toMatch(/Unchanged: 2\nNothing to change; the catalogue stays at revision 2\.\n$/)
    expect(await everything()).toEqual(before)
    expect(await selectRevision(database.owner)).toMatchObject({ revision: 2 })
  })

  test('as a dry run prints the same and changes nothing, not even the revision or the audit log', async () => {
    await putItems(database.operator, [itemOf(one), itemOf(two)])
    const [before, state] = [await everything(), await selectRevision(database.owner)]
    const file = await fileOf([itemOf(one, { price_cents: 50 }), itemOf(three)])
    const { code, stdout } = await admin('catalogue', 'import', file, '--dry-run')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Added: 1\n[\s\S]*price \$1\.00 → \$0\.50[\s\S]*Taken from sale: 1\n[\s\S]*Dry run: nothing was changed\.\n$/,
    )
    const { json } = await admin('--json', 'catalogue', 'import', file, '--dry-run')
    expect(json).toMatchObject({
      ...{ applied: false, dry_run: true, revision: state.revision, refused: null, warnings: [] },
      counts: { added: 1, changed: 1, taken_from_sale: 1, back_on_sale: 0, unchanged: 0 },
      added: [{ id: three }],
      changed: [{ id: one, changes: [{ field: 'price_cents', old: 100, new: 50 }] }],
      taken_from_sale: [{ id: two, is_in_file: false }],
    })
    expect(await everything()).toEqual(before)
    expect((await selectRevision(database.owner)).revision).toBe(state.revision)
    expect(await lastAction()).toBe(undefined)
  })

  test('with --partial leaves items it does not name, and takes from sale those it says', async () => {
    await putItems(database.operator, [itemOf(one), itemOf(two)])
    const file = await fileOf([itemOf(two, { is_for_sale: false }), itemOf(three)])
    const { json } = await admin('catalogue', 'import', file, '--partial', '--json')
    expect(json).toMatchObject({
      applied: true,
      counts: { added: 1, changed: 0, taken_from_sale: 1, back_on_sale: 0, unchanged: 0 },
      taken_from_sale: [{ id: two, is_in_file: true }],
    })
    expect((await everything()).map(({ is_for_sale }) => is_for_sale)).toEqual([true, false, true])
  })

  test('does not change has_supply', async () => {
    await putItems(database.operator, [itemOf(one)])
    await database.asOwner(`update items set has_supply = false where id = '${one}'`)
    await admin('catalogue', 'import', await fileOf([itemOf(one, { price_cents: 50 })]))
    expect(await selectItem(database.owner, one)).toMatchObject({ price_cents: 50, has_supply: false })
  })

  test('that would take most items from sale is refused until the operator confirms it', async () => {
    const many = Array.from({ length: 20 }, (_, n) => itemOf(`1000000000000000${n + 10}1`))
    await putItems(database.operator, many)
    const before = await everything()
    const half = await fileOf(many.slice(0, 10))
    const less = await fileOf(many.slice(0, 9), 'csv')

    const dry = await admin('catalogue', 'import', less, '--dry-run')
    expect(dry).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('It would be refused: This would take 11 of the 20'),
    })
    const refused = await admin('catalogue', 'import', less)
    expect(refused.code).toBe(EXIT.usage)
    expect(refused.stderr).toMatch(/would take 11 of the 20 items .*--partial.*--allow-removals/)
    // The same check under the lock, which sees a shop that changed since the comparison.
    const operation = operator().importCatalogue(new Map(), 'test', {
      isPartial: false,
      allowRemovals: false,
    })
    await expect(operation).rejects.toThrow('would take 20 of the 20')
    expect(await everything()).toEqual(before)
    expect(await lastAction()).toBe(undefined)

    expect(await admin('catalogue', 'import', half)).toMatchObject({ code: 0 })
    expect(await admin('catalogue', 'import', less, '--allow-removals')).toMatchObject({ code: 0 })
    expect((await everything()).filter(({ is_for_sale }) => is_for_sale)).toHaveLength(9)
  })

  test('that changes a price, or most prices, by much is refused in a script too, until a flag names the bound', async () => {
    const many = Array.from({ length: 20 }, (_, n) =>
      itemOf(`1000000000000000${n + 10}1`, { price_cents: 499 }),
    )
    await putItems(database.operator, many)
    const before = await everything()
    const [first, ...rest] = many.map((item) => ({ ...item, price_cents: 50 }))
    const oneOff = await fileOf([first as ItemFacts, ...many.slice(1)])
    const tenth = await fileOf([first as ItemFacts, ...rest])
    const dearer = await fileOf(many.map((item) => ({ ...item, price_cents: 549 })))

    const dry = await admin('catalogue', 'import', oneOff, '--dry-run')
    expect(dry.stdout).toContain('It would be refused: This would change a price more than 3 times')
    const refused = await admin('catalogue', 'import', oneOff, '--yes')
    expect(refused).toMatchObject({ code: EXIT.usage })
    expect(refused.stderr).toMatch(/from \$4\.99 to \$0\.50\. Nothing was changed.*--price-factor-max 10\./)
    expect((await admin('catalogue', 'import', tenth, '--yes', '--json')).code).toBe(EXIT.usage)
    const all = await admin('catalogue', 'import', dearer, '--yes')
    expect(all).toMatchObject({ code: EXIT.usage })
    expect(all.stderr).toMatch(/the prices of 20 of 20 items.*--price-share-max 100\./)
    const single = await admin('catalogue', 'set', many[0]?.id ?? '', '--price', '0.49')
    expect(single).toMatchObject({ code: EXIT.usage, stdout: '' })
    expect(single.stderr).toContain('--price-factor-max 11')
    expect(await everything()).toEqual(before)

    expect((await admin('catalogue', 'import', dearer, '--price-share-max', '100')).code).toBe(0)
    expect((await admin('catalogue', 'import', oneOff, '--price-factor-max', '11')).code).toBe(EXIT.usage)
    const both = ['--price-factor-max', '11', '--price-share-max', '100']
    expect((await admin('catalogue', 'import', tenth, ...both)).code).toBe(0)
    expect(
      (await admin('catalogue', 'set', many[0]?.id ?? '', '--price', '4.99', '--price-factor-max', '10'))
        .code,
    ).toBe(0)
  })

  test('that removes a few items needs no confirmation, however small the shop', async () => {
    await putItems(
      database.operator,
      Array.from({ length: 9 }, (_, n) => itemOf(`1000000000000000${n}1`)),
    )
    expect(await admin('catalogue', 'import', await fileOf([]))).toMatchObject({ code: 0 })
    expect((await everything()).filter(({ is_for_sale }) => is_for_sale)).toHaveLength(0)
  })

  test('of a file with problems changes nothing, prints all of them and exits 2', async () => {
    await putItems(database.operator, [itemOf(one)])
    const before = await everything()
    const file = join(folder, 'wrong.csv')
    await writeFile(
      file,
      `${HEADER}\n1.23E+17,a,frame,c,1,,,\n${two},a,frame,c,1.99,,,\n${three},b,frame,c,1,,,\n`,
    )
    const refused = await admin('catalogue', 'import', file)
    expect(refused).toMatchObject({ code: EXIT.usage, stdout: '' })
    expect(refused.stderr).toMatch(/2 problems; nothing was changed\.\n {2}line 2: .*\n {2}line 3: .*\n$/)
    expect((await admin('catalogue', 'import', join(folder, 'nowhere.csv'))).stderr).toContain(
      'there is no such file',
    )
    expect(await everything()).toEqual(before)
  })

  test('prints twenty lines of a kind, and all of them with --all', async () => {
    const file = await fileOf(Array.from({ length: 25 }, (_, n) => itemOf(`1000000000000000${n + 10}1`)))
    const short = await admin('catalogue', 'import', file, '--dry-run')
    expect(short.stdout).toMatch(/^Added: 25\n( {2}1.*\n){20} {2}and 5 more \(--all shows them\)\nChanged: 0/)
    const long = await admin('catalogue', 'import', file, '--dry-run', '--all')
    expect(long.stdout).toMatch(/^Added: 25\n( {2}1.*\n){25}Changed: 0/)
  })

  test('compares with the shop under the lock; two concurrent imports run one after the other', async () => {
    const imports = [itemOf(one), itemOf(one, { price_cents: 50 })].map((item) =>
      operator().importCatalogue(new Map([[one, item]]), 'test', { isPartial: false, allowRemovals: false }),
    )
    const done = await Promise.all(imports)
    const counts = done.map(({ difference }) => [difference.added.length, difference.changed.length])
    expect(counts).toContainEqual([1, 0])
    expect(counts).toContainEqual([0, 1])
    expect(done.map(({ revision }) => revision).sort()).toEqual([2, 3])
  })

  // In CI fewer: work that grows with the square exceeds the time at this size as well.
  const size = IS_LONG ? 1_000_000 : process.env.SHOPWIRE_E2E_SHORT === '1' ? 60_000 : 200_000
  test(`of ${size} items, new, unchanged and removed, ends in time`, { timeout: 300_000 }, async () => {
    const lines = Array.from(
      { length: size },
      (_, n) =>
        `{"id":"${100_000_000_000 + n}${String(n % 1_000).padStart(7, '7')}","name":"Item ${n}","type":"decoration","collection":"Collection ${n % 500}","price_cents":${n % 5_000},"image":"https://img.example/${n}.png","available_until":null,"for_sale":true}`,
    )
    const file = join(folder, 'large.json')
    await writeFile(file, `[${lines.join(',\n')}]`)
    const short = join(folder, 'short.json')
    await writeFile(short, `[${lines.slice(0, 10).join(',\n')}]`)
    // A minute for a million on a quiet machine. Work that grows with the square would take hours.
    const msMax = 60_000 + (size / 1_000_000) * 120_000

    const fresh = await timed(() => admin('catalogue', 'import', file))
    expect(fresh.result.stdout).toMatch(/Done; the catalogue is at revision 2\. API servers are reading it/)
    const same = await timed(() => admin('catalogue', 'import', file))
    expect(same.result.stdout).toContain(`Unchanged: ${size}\nNothing to change`)
    const gone = await timed(() => admin('catalogue', 'import', short, '--allow-removals'))
    expect(gone.result.stdout).toContain(`Taken from sale: ${size - 10}\n`)
    if (IS_LONG)
      process.stdout.write(`import of ${size}: ${[fresh, same, gone].map(({ ms }) => Math.round(ms))} ms\n`)
    for (const { ms } of [fresh, same, gone]) expect(ms).toBeLessThan(msMax)
  })
})

describe('export', () => {
  openDatabaseForEach()

  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
    .map((each) =>
      each
        .normalize('NFC')
        .replaceAll(/\p{Cc}/gu, ',"')
        .trim(),
    )
    .filter((each) => each.length > 0 && [...each].length <= 200)
  const item = fc
    .record({
      id: fc.stringMatching(/^[0-9]{16,19}$/).map((digits) => `${digits}7`),
      name: text,
      type: fc.constantFrom(...itemTypes),
      collection: text,
      price_cents: fc.integer({ min: 0, max: 100_000_000 }),
      image: fc.option(fc.webUrl({ withQueryParameters: true, withFragments: true })),
      is_for_sale: fc.boolean(),
      available_until: fc.option(
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
      ),
    })
    .map((each): ItemFacts => (each.type === 'frame' ? { ...each, image: null } : each))

  test('is read back by import as the same items, in both formats', { timeout: 120_000 }, async () => {
    const items = fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(items, fc.constantFrom(...fileFormats), async (generated, format) => {
        const known = new Map(generated.map((each) => [each.id, each]))
        const options = { isPartial: false, allowRemovals: true }
        await database.operator.transaction((tx) => importCatalogue(tx, known, options, Date.now()))
        const { stdout } = await admin('catalogue', 'export', '--format', format)
        const { items: read, format: found } = readCatalogueFile(Buffer.from(stdout))
        expect(found).toBe(format)
        const difference = await compareCatalogue(database.operator, read, options)
        expect(difference).toMatchObject({ added: [], changed: [], taken_from_sale: [], back_on_sale: [] })
        expect(difference.unchanged).toBe((await everything()).length)
      }),
      { numRuns: IS_LONG ? 1_000 : 60 },
    )
  })

  test.each(fileFormats)('as %s survives a round trip through an empty shop', async (format) => {
    const items = [
      itemOf('00000000000000001', {
        name: 'a "b", c',
        image: 'https://img.example/a,b.png',
        is_for_sale: false,
      }),
      itemOf('99999999999999999999', {
        type: 'frame',
        available_until: new Date('2026-12-31T23:59:59.123Z'),
      }),
    ]
    await putItems(database.operator, items)
    const file = join(folder, `there.${format}`)
    await writeFile(file, (await admin('catalogue', 'export', '--format', format)).stdout)
    const other = await openTestDatabase()
    try {
      await adminOn(other, 'catalogue', 'import', file)
      expect((await adminOn(other, 'catalogue', 'export', '--format', format)).stdout).toBe(
        (await admin('catalogue', 'export', '--format', format)).stdout,
      )
    } finally {
      await other.close()
    }
  })

  test('of an empty catalogue is a valid file, and the command says what to do', async () => {
    expect(await admin('catalogue', 'export', '--format', 'csv')).toMatchObject({
      stdout: `${HEADER}\r\n`,
      stderr: expect.stringContaining('No items yet.'),
    })
    expect((await admin('catalogue', 'export', '--json')).json).toEqual({ items: [] })
  })
})

describe('one item', () => {
  openDatabaseForEach()

  const [one, two, three] = ['11111111111111111', '22222222222222222', '33333333333333333'] as const
  const NOTHING = '99999999999999999'
  beforeEach(() =>
    putItems(database.operator, [
      itemOf(one, { name: 'Étoile 100%', image: 'https://img.example/1.png' }),
      itemOf(two, { type: 'frame', is_for_sale: false, available_until: new Date('2020-01-01T00:00:00Z') }),
      itemOf(three),
    ]),
  )

  test('is found in the list by name, type and sale, page by page', async () => {
    const ids = async (...args: string[]) =>
      (await admin('--json', 'catalogue', 'list', ...args)).json.items.map(({ id }: ItemFacts) => id)
    expect(await ids()).toEqual([one, two, three])
    expect(await ids('--search', 'éTOILE')).toEqual([one])
    expect(await ids('--search', 'e\u0301toile')).toEqual([one])
    expect(await ids('--search', '%')).toEqual([one])
    expect(await ids('--type', 'frame')).toEqual([two])
    expect(await ids('--not-for-sale')).toEqual([two])
    expect(await ids('--type', 'bundle')).toEqual([])
    const { json } = await admin('--json', 'catalogue', 'list', '--limit', '2')
    expect(json.next).toBe(two)
    expect(await ids('--after', two)).toEqual([three])
    const { stdout } = await admin('catalogue', 'list', '--limit', '2')
    expect(stdout).toMatch(
      /^ITEM .*\n1{17} +decoration +\$1\.00 +yes +Basics +Étoile 100%\n2{17} .*\nMore: --after 2{17}\n$/,
    )
    expect((await admin('catalogue', 'list', '--search', 'nothing')).stdout).toContain('No item matches.')
  })

  test('is shown with whether it can be bought, or why not', async () => {
    expect((await admin('catalogue', 'show', one)).stdout).toMatch(
      /Price +\$1\.00\n[\s\S]*Sellable +yes, now\n$/,
    )
    await database.asOwner(`update items set has_supply = false where id = '${two}'`)
    expect((await admin('catalogue', 'show', two)).stdout).toContain(
      'no: not for sale, no supply, sale ended 2020-01-01T00:00:00.000Z',
    )
    expect((await admin('catalogue', 'show', two, '--json')).json).toMatchObject({
      item: { id: two },
      sellable: false,
      obstacles: ['not for sale', 'no supply', 'sale ended 2020-01-01T00:00:00.000Z'],
    })
  })

  test('is changed in one revision; old and new values are printed and audited', async () => {
    const args = [
      '--price',
      '1.99',
      '--name',
      ' Star ',
      '--until',
      '2030-01-01T00:00:00+02:00',
      '--for-sale',
      'no',
    ]
    const { stdout } = await admin('catalogue', 'set', one, ...args)
    expect(stdout).toBe(
      `${one} Star: name "Étoile 100%" → "Star", price $1.00 → $1.99, available_until never → 2029-12-31T22:00:00.000Z, for_sale yes → no\nThe catalogue is at revision 3.\n`,
    )
    expect(await selectItem(database.owner, one)).toMatchObject({
      ...{ name: 'Star', price_cents: 199, is_for_sale: false, image: 'https://img.example/1.png' },
      available_until: new Date('2029-12-31T22:00:00Z'),
    })
    expect(await lastAction()).toMatchObject({
      ...{ action: 'catalogue.set', target: one },
      details: {
        revision: 3,
        changes: expect.arrayContaining([{ field: 'price_cents', old: 100, new: 199 }]),
      },
    })
    const { json } = await admin('--json', 'catalogue', 'set', one, '--until', 'never', '--for-sale', 'yes')
    expect(json).toMatchObject({ revision: 4, item: { available_until: null, is_for_sale: true } })
    expect((await admin('catalogue', 'set', one, '--price', '1.99')).stdout).toContain('stays at revision 4')
  })

  test('that does not exist exits 4', async () => {
    for (const args of [
      ['show', NOTHING],
      ['set', NOTHING, '--price', '1.00'],
    ]) {
      expect(await admin('catalogue', ...args)).toMatchObject({ code: EXIT.notFound, stdout: '' })
    }
  })

  test.each([
    ['set', one],
    ['set', one, '--price', '1'],
    ['set', one, '--price', '1000000.01'],
    ['set', one, '--name', ' '],
    ['set', one, '--name', 'a\nb'],
    ['set', one, '--until', 'tomorrow'],
    ['set', one, '--until', ''],
    ['set', one, '--for-sale', 'maybe'],
    ['list', '--type', 'hat'],
    ['list', '--limit', '0'],
    ['export', '--format', 'xml'],
    ['import'],
  ])('%s %s %s %s is invalid and exits 2', async (...args) => {
    const before = await everything()
    expect(await admin('catalogue', ...args.filter((arg) => arg !== undefined))).toMatchObject({
      code: EXIT.usage,
      stdout: '',
    })
    expect(await everything()).toEqual(before)
  })
})

test('an empty catalogue prints what to do next', async ({ onTestFinished }) => {
  database = await openTestDatabase()
  onTestFinished(() => database.close())
  expect((await admin('catalogue', 'list')).stdout).toMatch(
    /^No items yet\. .*catalogue import <file> --dry-run\n$/,
  )
})

function read(text: string | Uint8Array, format?: FileFormat) {
  return readCatalogueFile(typeof text === 'string' ? Buffer.from(text) : text, format)
}

function complaint(text: string | Uint8Array, format?: FileFormat): string {
  try {
    return `accepted: ${read(text, format).items.size} items`
  } catch (error) {
    return (error as Error).message
  }
}

function jsonItem(id: string) {
  return { id, name: 'a', type: 'effect', collection: 'c', price_cents: 1 }
}

let files = 0
async function fileOf(items: readonly ItemFacts[], format: FileFormat = 'json'): Promise<string> {
  files += 1
  const file = join(folder, `${files}.${format}`)
  const rows = items.map(({ is_for_sale, available_until, ...facts }) => ({
    ...facts,
    available_until: available_until?.toISOString() ?? null,
    for_sale: is_for_sale,
  }))
  const csv = () =>
    rows
      .map((row) =>
        HEADER.split(',')
          .map((name) => row[name as keyof typeof row] ?? '')
          .join(','),
      )
      .join('\n')
  await writeFile(file, format === 'json' ? JSON.stringify(rows) : `${HEADER}\n${csv()}\n`)
  return file
}

function operator(db = database.operator) {
  return createOperator(
    {
      ...{ db, keyring: testKeyring(), clock: systemClock, cell: 'c1' },
      admission: () => Promise.reject(new Error('the catalogue needs no admission')),
    },
    'test',
  )
}

function admin(...args: string[]) {
  return adminOn(database, ...args)
}

async function adminOn({ operator: db }: TestDatabase, ...args: string[]) {
  let [stdout, stderr] = ['', '']
  // Only what the catalogue commands use: they must not need the rest of the context.
  const context = {
    schemaMismatch: async () => undefined,
    identify: async () => {},
    operator: () => operator(db),
    reads: () => createReads(db),
    out: (text: string) => {
      stdout += text
    },
    err: (text: string) => {
      stderr += text
    },
    // No API process runs here.
    pause: async () => {},
  } as unknown as CommandContext
  const code = await runAdmin(context, args)
  const isJson = args.includes('--json') && stdout !== ''
  return { code, stdout, stderr, json: isJson ? JSON.parse(stdout) : undefined }
}

function everything() {
  return database.owner.many<ItemFacts & { revision: number }>(sql`
    select id, name, type, collection, price_cents, image, is_for_sale, available_until, revision
      from items
     order by id`)
}

async function lastAction() {
  const [row] = await database.owner.many<{ action: string; target: string; details: unknown }>(sql`
    select action, target, details
      from audit_log
     order by id desc
     limit 1`)
  return row
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const from = performance.now()
  const result = await work()
  return { result, ms: performance.now() - from }
}
