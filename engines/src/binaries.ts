import { accessSync, constants, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const DEBIAN_POSTGRES = '/usr/lib/postgresql'

/** The folder that holds `postgres` and `initdb`: SHOPWIRE_PG_BIN, then Debian's newest, then the PATH. */
export function findPostgres(): string {
  return findFolder({
    product: 'PostgreSQL',
    programs: ['postgres', 'initdb'],
    variable: 'SHOPWIRE_PG_BIN',
    usual: debianVersions().map((version) => join(DEBIAN_POSTGRES, version, 'bin')),
    package: 'postgresql',
  })
}

/** The folder that holds `redis-server`: SHOPWIRE_REDIS_BIN, then the PATH. */
export function findRedis(): string {
  return findFolder({
    product: 'Redis',
    programs: ['redis-server'],
    variable: 'SHOPWIRE_REDIS_BIN',
    usual: [],
    package: 'redis-server',
  })
}

interface Wanted {
  product: string
  programs: [string, ...string[]]
  variable: string
  usual: string[]
  package: string
}

function findFolder(wanted: Wanted): string {
  const { product, programs, variable } = wanted
  const hasAll = (folder: string) => programs.every((program) => canRun(join(folder, program)))
  const fix = `Install it (apt-get install ${wanted.package}) or set ${variable} to the folder that holds ${programs.join(' and ')}.`

  const named = process.env[variable]
  // A configured folder is never silently replaced by another one.
  if (named && !hasAll(named)) {
    throw new Error(`${product} is not in ${named}, where ${variable} points. ${fix}`)
  }
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => realFolder(folder, programs[0]))
  const found = [named, ...wanted.usual, ...onPath].find((folder) => folder && hasAll(folder))
  if (!found) throw new Error(`${product} is not installed: no ${programs.join(' or ')} was found. ${fix}`)
  return found
}

/** A PATH entry is often a link to one program; the other programs are beside its target. */
function realFolder(folder: string, program: string): string | undefined {
  const path = join(folder, program)
  return folder && canRun(path) ? dirname(realpathSync(path)) : undefined
}

function debianVersions(): string[] {
  try {
    return readdirSync(DEBIAN_POSTGRES).sort((a, b) => Number(b) - Number(a))
  } catch {
    return []
  }
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
