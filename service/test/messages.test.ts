import { existsSync, globSync, readFileSync } from 'node:fs'
import { errorTypes } from '@shopwire/contract'
import { expect, test } from 'vitest'

/** Everything that a person may read: sources of what runs, and pages. */
const SOURCES = [
  '{service,emulator,cli}/{src,bin}/**/*.ts',
  '{contract,sdk}/src/**/*.ts',
  'tools/reference/*.ts',
  '{docs,docs/guides,docs/start,docs/reference}/*.md',
  '{sdk,cli,emulator}/README.md',
  'README.md',
]
const ROOT = new URL('../../', import.meta.url)
const sources = globSync(SOURCES, { cwd: ROOT.pathname }).map((path) => ({
  path,
  text: readFileSync(new URL(path, ROOT), 'utf8'),
}))

test('every page of the docs that the sources name exists, with its heading', () => {
  const named = sources
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:docs\/|(?=(?:guides|reference|start)\/))([\w/-]+\.md)(?:#([\w-]+))?/g)].map(
        ([, page = '', heading]) => ({ path, page, heading }),
      ),
    )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ page, heading }) => !isThere(page, heading))).toEqual([])
})

test('every error type has the section, and the list of signature mistakes the page, that the SDK and the command line link to', () => {
  const types = Object.keys(errorTypes)
  expect(types.filter((type) => !isThere('reference/errors.md', type))).toEqual([])
  expect(isThere('reference/signature-mistakes.md')).toBe(true)
  // How these links are built; a change there has to be repeated here.
  expect(textOf('sdk/src/attempt.ts')).toMatch(/\/docs\/reference\/errors#\$\{encodeURIComponent\(type\)\}`/)
  expect(textOf('cli/src/doctor/signature.ts')).toContain('/docs/reference/signature-mistakes`')
})

function isThere(page: string, heading?: string): boolean {
  const file = new URL(`docs/${page}`, ROOT)
  if (!existsSync(file)) return false
  if (heading === undefined) return true
  return (readFileSync(file, 'utf8').match(/^#+ .*$/gm) ?? []).some((line) => slugOf(line) === heading)
}

function slugOf(line: string): string {
  return line
    .replace(/^#+ /, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function textOf(path: string): string {
  return sources.find((source) => source.path === path)?.text ?? ''
}
