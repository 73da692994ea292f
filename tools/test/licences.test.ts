import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXCEPTIONS, isAllowed, refusal } from '../../packaging/licence-policy.ts'
import { writeLicenceList } from '../../packaging/licences.ts'
import { idOf, readLock, thirdParty, withDependencies } from '../../packaging/locked-packages.ts'

const packages = thirdParty(readLock()).map(([path, entry]) => ({
  name: idOf(path, entry).replace(/@[^@]*$/, ''),
  licence: entry.license,
  isShipped: false,
}))

describe('the licence of every package in the lockfile', () => {
  test('is on the list of those allowed, or has an exception', () => {
    expect(packages.length).toBeGreaterThan(800)
    expect(packages.flatMap((one) => refusal(one) ?? [])).toEqual([])
  })

  test('is the reason for each exception: none is left over', () => {
    const unused = EXCEPTIONS.filter(
      ({ packages: names, licence }) =>
        !packages.some((one) => names.test(one.name) && one.licence === licence),
    )
    expect(unused).toEqual([])
  })
})

describe('a package is refused, with what to do,', () => {
  test('when its licence is not on the list', () => {
    const planted = { name: 'planted', licence: 'GPL-3.0-only', isShipped: false }
    expect(refusal(planted)).toContain('planted is under GPL-3.0-only')
    expect(refusal(planted)).toContain('Use another package')
  })

  test('when it declares none', () => {
    expect(refusal({ name: 'planted', licence: undefined, isShipped: false })).toContain(
      'declares no licence',
    )
  })

  test('when its exception is for another licence than it now has', () => {
    expect(refusal({ name: 'png-js', licence: 'AGPL-3.0-only', isShipped: false })).toContain('AGPL-3.0-only')
  })

  test('when it may only build and test, and becomes part of what is published', () => {
    const compressor = { name: 'lightningcss', licence: 'MPL-2.0' }
    expect(refusal({ ...compressor, isShipped: false })).toBe(undefined)
    expect(refusal({ ...compressor, isShipped: true })).toContain('may only build and test')
  })
})

describe('the list beside what is published', () => {
  test('names every package once and has the text of each licence, also of those that bring none', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'licences-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const wanted = withDependencies(readLock(), [
      installed('pdfkit'),
      installed('@fontsource-variable/inter'),
    ])
    expect(wanted.length).toBeGreaterThan(10)
    await writeLicenceList(folder, [...wanted, ...wanted])
    const list = await readFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    const named = [...list.matchAll(/^(\S+@\S+): \S/gm)].map(([, id]) => id)
    expect(named).toEqual(wanted)
    const texts = list.split(/^-{80}$/m).slice(1)
    for (const id of wanted) {
      const text = texts.filter((one) => one.split('\n').includes(id))
      expect(text.length, id).toBe(1)
      expect(text[0], id).toMatch(
        /Permission is hereby granted|SIL OPEN FONT LICENSE|Apache License|permission notice|copies of the Software|Permission to use, copy/,
      )
    }
    expect(list).toMatch(
      /fontkit@\S+\n[\s\S]*contains no text of its licence; its package.json says MIT[\s\S]*Devon Govett/,
    )
  })

  test('is refused for a package that may not be published, or is not locked', async () => {
    await expect(writeLicenceList(tmpdir(), [installed('lightningcss')])).rejects.toThrow(
      'may only build and test',
    )
    await expect(writeLicenceList(tmpdir(), ['left-pad@1.0.0'])).rejects.toThrow('not in package-lock.json')
  })

  function installed(name: string): string {
    const path = `node_modules/${name}`
    return idOf(path, readLock()[path] ?? {})
  }
})

test.for([
  ['MIT', true],
  ['(MIT OR GPL-2.0-only)', true],
  ['GPL-2.0-only OR MIT', true],
  ['MIT AND ISC AND BSD-3-Clause', true],
  ['MIT AND GPL-2.0-only', false],
  ['MIT AND (GPL-2.0-only OR ISC)', true],
  ['GPL-2.0-only OR (MIT AND AGPL-3.0-only)', false],
  ['Apache-2.0 WITH LLVM-exception', false],
  ['SEE LICENSE IN LICENSE.md', false],
  ['UNLICENSED', false],
  ['(MIT', false],
  ['', false],
] as const)('the expression "%s" is allowed: %s', ([expression, isIt]) => {
  expect(isAllowed(expression)).toBe(isIt)
})
