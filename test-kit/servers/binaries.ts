import { accessSync, constants, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Where is looked: `root` stands for `/`. */
export interface Machine {
  readonly root: string
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

interface Product {
  readonly name: string
  readonly programs: readonly [string, ...string[]]
  readonly variable: string
  /** Beside the PATH; `*` stands for a version, of which the newest counts. */
  readonly folders: readonly string[]
  /** What each package manager calls it. */
  readonly packages: Readonly<Record<Manager, string>>
}

type Manager = 'apt-get' | 'dnf' | 'pacman' | 'brew'

/** Homebrew on Apple's processors, on Intel's, and on Linux. It leaves versioned formulas out of the PATH. */
const HOMEBREW = ['/opt/homebrew', '/usr/local', '/home/linuxbrew/.linuxbrew']
const INSTALL: readonly [Manager, string][] = [
  ['apt-get', 'apt-get install'],
  ['dnf', 'dnf install'],
  ['pacman', 'pacman -S'],
  ['brew', 'brew install'],
]

const POSTGRES: Product = {
  name: 'PostgreSQL',
  programs: ['postgres', 'initdb'],
  variable: 'SHOPWIRE_PG_BIN',
  folders: [
    // Debian; PostgreSQL's own packages for Fedora; Arch's former version; Postgres.app.
    '/usr/lib/postgresql/*/bin',
    '/usr/pgsql-*/bin',
    '/opt/pgsql-*/bin',
    '/Applications/Postgres.app/Contents/Versions/*/bin',
    ...HOMEBREW.flatMap((home) => [`${home}/opt/postgresql*/bin`, `${home}/Cellar/postgresql*/*/bin`]),
  ],
  packages: {
    'apt-get': 'postgresql',
    dnf: 'postgresql-server postgresql-contrib',
    pacman: 'postgresql',
    brew: 'postgresql@17',
  },
}

const REDIS: Product = {
  name: 'Redis',
  programs: ['redis-server'],
  variable: 'SHOPWIRE_REDIS_BIN',
  folders: HOMEBREW.flatMap((home) => [`${home}/opt/redis*/bin`, `${home}/Cellar/redis*/*/bin`]),
  // Arch has Valkey only, which also comes as redis-server.
  packages: { 'apt-get': 'redis-server', dnf: 'redis', pacman: 'valkey', brew: 'redis' },
}

const THIS_MACHINE: Machine = { root: '/', platform: process.platform, env: process.env }

/** The folder that holds `postgres` and `initdb`: SHOPWIRE_PG_BIN, then the newest in the usual folders, then the PATH. */
export function findPostgres(machine = THIS_MACHINE): string {
  return findFolder(POSTGRES, machine)
}

/** The folder that holds `redis-server`: SHOPWIRE_REDIS_BIN, then the usual folders, then the PATH. */
export function findRedis(machine = THIS_MACHINE): string {
  return findFolder(REDIS, machine)
}

/** The library that gives a process another clock. */
export function findFaketime(machine = THIS_MACHINE): string {
  const usual = ['/usr/lib/*/faketime/libfaketime.so.1', '/usr/lib*/faketime/libfaketime.so.1']
  const found = usual.flatMap((pattern) => foldersLike(pattern, machine.root)).find(canRead)
  if (!found) throw new Error('libfaketime is not installed. Install it (apt-get install libfaketime).')
  return found
}

function findFolder(product: Product, machine: Machine): string {
  const { name, programs, variable } = product
  const hasAll = (folder: string) => programs.every((program) => canRun(join(folder, program)))
  const fix = `${howToInstall(product, machine)} or set ${variable} to the folder that holds ${programs.join(' and ')}.`

  const named = machine.env[variable]
  // A configured folder is never silently replaced by another one.
  if (named && !hasAll(named)) throw new Error(`${name} is not in ${named}, where ${variable} points. ${fix}`)
  const usual = product.folders.flatMap((pattern) => foldersLike(pattern, machine.root))
  const onPath = pathOf(machine).map((folder) => realFolder(folder, programs[0]))
  const found = [named, ...usual, ...onPath].find((folder) => folder && hasAll(folder))
  if (!found) throw new Error(`${name} is not installed: no ${programs.join(' or ')} was found. ${fix}`)
  return found
}

function howToInstall({ packages }: Product, machine: Machine): string {
  if (machine.platform === 'win32') return 'Work in WSL (wsl --install) or in the devcontainer,'
  const folders = [...pathOf(machine), join(machine.root, 'usr/bin')]
  const isThere = (manager: Manager) =>
    machine.platform === 'darwin'
      ? manager === 'brew'
      : folders.some((folder) => canRun(join(folder, manager)))
  const [manager, install] = INSTALL.find(([one]) => isThere(one)) ?? []
  return manager
    ? `Install it (${install} ${packages[manager]})`
    : "Install it with your system's package manager"
}

function pathOf({ env }: Machine): string[] {
  return (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
}

/** A PATH entry is often a link to one program; the other programs are beside its target. */
function realFolder(folder: string, program: string): string | undefined {
  const path = join(folder, program)
  return canRun(path) ? dirname(realpathSync(path)) : undefined
}

/** The newest version first. Unlike Node's glob this follows links, which Homebrew's folders are. */
function foldersLike(pattern: string, root: string): string[] {
  let folders = [root]
  for (const part of pattern.split('/')) {
    const [start = '', end] = part.split('*')
    folders = folders.flatMap((folder) =>
      end === undefined
        ? [join(folder, part)]
        : namesIn(folder)
            .filter((name) => name.startsWith(start) && name.endsWith(end))
            .map((name) => join(folder, name)),
    )
  }
  return folders.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const canRun = (path: string) => can(path, constants.X_OK)
const canRead = (path: string) => can(path, constants.R_OK)

function can(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
