import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { requireRepository } from '../release/repository.ts'
import { describeRelease, missingUpgrade, readChangeset, readHead } from '../release/upgrade-notes.ts'
import { oneVersion, versionsIn } from '../release/versions.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FORMER = { version: '0.2.0', schema: 39 }
const head = (number: number, compatible_with: number) =>
  readHead(
    `00${number}_change.sql`,
    `-- migrate: no-transaction\n-- compatible-with: ${compatible_with}\n-- needed: no\n-- Finds it faster. And more.\ncreate index concurrently a on b (c);\n`,
  )
const changeset = (body: string) => readChangeset('a.md', `---\n"@shopwire/service": minor\n---\n\n${body}\n`)

test('every place that names the version of this tree names the same one', async () => {
  const versions = await versionsIn(ROOT)
  expect(versions.size).toBeGreaterThan(13)
  expect(oneVersion(versions)).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/)
})

test('a version that differs stops the release and is named', async () => {
  const versions = await versionsIn(ROOT)
  versions.set('sdk/package.json', '9.9.9')
  expect(() => oneVersion(versions)).toThrow(/^versions differ: .*sdk\/package\.json has 9\.9\.9/)
})

test('a release stops while package.json does not say where this is hosted, or names another place than the workflow', () => {
  const named = { name: 'shopwire', version: '1.0.0', repository: { url: 'git+https://git.example/o/n.git' } }
  expect(() => requireRepository({ name: 'shopwire', version: '1.0.0' })).toThrow(
    /does not say where this is hosted.*--dry-run/,
  )
  expect(() => requireRepository(named, 'o/fork')).toThrow(/hosted at .*o\/n\.git.*runs in o\/fork/)
  expect(requireRepository(named, 'o/n')).toBe(named.repository.url)
})

test('migrations without a paragraph on upgrading stop the release; with one it is made', () => {
  const silent = changeset('Faster lists.')
  expect(missingUpgrade([silent], [head(40, 39)])).toMatch(
    /1 migrations were added .*0040_change\.sql.*"Upgrade:"/,
  )
  expect(missingUpgrade([silent], [])).toBeUndefined()
  expect(
    missingUpgrade([silent, changeset('More.\n\nUpgrade: nothing to do.')], [head(40, 39)]),
  ).toBeUndefined()
})

test('the notes have the text of the changesets, what migrates, and that the way back is open', () => {
  expect(
    describeRelease(
      '0.3.0',
      FORMER,
      [changeset('Faster lists.\n\nUpgrade: replace\nworkers soon.\n\nAnd colours.')],
      [head(40, 39)],
    ),
  ).toBe(
    [
      'Faster lists.\n\nAnd colours.',
      '### Upgrade to 0.3.0',
      'replace\nworkers soon.',
      'Rolling back to 0.2.0 is open: its programs work on this schema.',
      'The schema goes from version 39 to 40; programs start without 1 of the files.',
      '- `0040_change.sql`: Finds it faster.',
    ].join('\n\n'),
  )
})

test('two files of one release that each name their predecessor close the way back, and the notes say so', () => {
  expect(describeRelease('0.3.0', FORMER, [], [head(40, 39), head(41, 40)])).toContain(
    '**Rolling back to 0.2.0 is not possible** once 0041_change.sql is applied',
  )
})
