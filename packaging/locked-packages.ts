import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** An entry of package-lock.json, as far as we look into it. */
export interface LockEntry {
  name?: string
  version?: string
  integrity?: string
  resolved?: string
  os?: string | string[]
  cpu?: string | string[]
  libc?: string | string[]
  license?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

export type Locked = Readonly<Record<string, LockEntry>>

export function readLock(file = 'package-lock.json'): Locked {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages
}

/** Other people's packages in the lockfile, by path. */
export function thirdParty(locked: Locked): [path: string, entry: LockEntry][] {
  return Object.entries(locked).filter(([path, { link }]) => path.includes('node_modules/') && !link)
}

/** As `name@version`. A package that is installed under another name keeps its own. */
export function idOf(path: string, { name, version }: LockEntry): string {
  return `${name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`
}

/** The installed folder of a package `name@version`. */
export function folderOf(locked: Locked, id: string): string {
  return join(ROOT, pathOf(locked, id))
}

/** The packages, each `name@version`, with everything installed that they depend on; sorted. */
export function withDependencies(locked: Locked, ids: readonly string[]): string[] {
  const found = new Map<string, string>()
  const open = ids.map((id) => pathOf(locked, id))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const entry = locked[path]
    if (!entry || found.has(path)) continue
    found.set(path, idOf(path, entry))
    const from = path
    const needed = { ...entry.dependencies, ...entry.optionalDependencies, ...entry.peerDependencies }
    const paths = Object.keys(needed).flatMap((name) => lockedPath(locked, from, name) ?? [])
    open.push(...paths.filter((one) => existsSync(join(ROOT, one))))
  }
  return [...new Set(found.values())].sort()
}

/** The entry that a package gets when it asks for another one: in its own folder, then in those around it. */
export function lockedPath(locked: Locked, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = posix.join(folder, 'node_modules', name)
    if (locked[path]) return path
    if (folder === '') return undefined
  }
}

function pathOf(locked: Locked, id: string): string {
  const [path] =
    thirdParty(locked).find(([one, entry]) => idOf(one, entry) === id && existsSync(join(ROOT, one))) ?? []
  if (path !== undefined) return path
  throw new Error(`${id} is not installed as package-lock.json says. Run npm ci and build again.`)
}
