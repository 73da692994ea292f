import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { refusal } from './licence-policy.ts'
import { folderOf, idOf, type LockEntry, type Locked, readLock, thirdParty } from './locked-packages.ts'

/** Beside whatever contains other people's code. */
export const LICENCE_LIST = 'THIRD-PARTY-LICENSES.txt'

/** A part that is no npm package, such as Node itself. */
export interface Part {
  readonly id: string
  readonly licence: string
  readonly text: string
}

const TEXTS = join(import.meta.dirname, 'licence-texts')
const LICENCE_FILE = /^(un)?(licen[cs]e|copying|notice|third[-_ ]?party)[^/]*(?<!\.[cm]?[jt]s)$/i
const README_FILE = /^readme/i
/** In a readme: where the text of the licence begins, when it is there in full. */
const IN_README =
  /^(?:#+ .*|)licen[cs]e.*$([\s\S]*(?:Permission is hereby granted|Redistribution and use)[\s\S]*)/im
const RULE = '-'.repeat(80)

/**
 * Writes the list of the packages, each `name@version`, with their licences and the texts of these. Throws when a licence does not allow
 * to publish the package, or its text cannot be found.
 */
export async function writeLicenceList(
  folder: string,
  ids: readonly string[],
  others: readonly Part[] = [],
): Promise<void> {
  const locked = readLock()
  const entries = new Map(thirdParty(locked).map(([path, entry]) => [idOf(path, entry), entry]))
  const parts = await Promise.all([...new Set(ids)].map((id) => partOf(locked, id, entries.get(id))))
  await writeFile(join(folder, LICENCE_LIST), listOf([...parts, ...others]))
}

async function partOf(locked: Locked, id: string, entry: LockEntry | undefined): Promise<Part> {
  if (!entry) throw new Error(`${id} is not in package-lock.json. Run npm ci and build again.`)
  const name = id.slice(0, id.lastIndexOf('@'))
  const { license: licence } = entry
  const refused = refusal({ name, licence, isShipped: true })
  if (refused !== undefined) throw new Error(refused)
  const folder = folderOf(locked, id)
  const text = (await ownText(folder)) ?? (await standardText(id, licence, folder))
  return { id, licence: licence ?? 'see the text', text }
}

/** What the package brings along. */
async function ownText(folder: string): Promise<string | undefined> {
  const names = (await readdir(folder, { withFileTypes: true })).flatMap((one) =>
    one.isFile() ? one.name : [],
  )
  const files = names.filter((name) => LICENCE_FILE.test(name)).sort()
  if (files.length > 0) return (await Promise.all(files.map((name) => read(join(folder, name))))).join('\n\n')
  const readme = names.find((name) => README_FILE.test(name))
  if (readme === undefined) return undefined
  return IN_README.exec(await read(join(folder, readme)))?.[1]?.trim()
}

/** Of a package that names its licence without the text. */
async function standardText(id: string, licence: string | undefined, folder: string): Promise<string> {
  const file = join(TEXTS, `${licence}.txt`)
  if (!existsSync(file))
    throw new Error(
      `${id} is under ${licence} and contains no text of it. Add the standard text as packaging/licence-texts/${licence}.txt.`,
    )
  const { author, repository } = JSON.parse(await read(join(folder, 'package.json')))
  const holder = (author?.name ?? author ?? 'the authors').replace(/ <[^>]*>/, '')
  const source = repository?.url ?? repository
  return [
    `The package contains no text of its licence; its package.json says ${licence}. Source: ${source}`,
    `Copyright (c) ${holder}`,
    await read(file),
  ].join('\n\n')
}

/** Packages with the same text stand above it together. */
function listOf(parts: readonly Part[]): string {
  const sorted = parts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const byText = Map.groupBy(sorted, ({ text }) => text)
  return [
    `Software by others that is part of this: ${sorted.length} packages, each with its licence. The texts follow below.`,
    sorted.map(({ id, licence }) => `${id}: ${licence}`).join('\n'),
    ...[...byText].map(([text, those]) => `${RULE}\n${those.map(({ id }) => id).join('\n')}\n\n${text}`),
    '',
  ].join('\n\n')
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).replaceAll('\r\n', '\n').trim()
}
