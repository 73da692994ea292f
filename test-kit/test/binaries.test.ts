import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findPostgres, findRedis, type Machine } from '../servers/binaries.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'engines-test-'))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

describe('PostgreSQL is found', () => {
  test.for([
    ["the newest of Debian's versions", '/usr/lib/postgresql/10/bin', '/usr/lib/postgresql/9/bin'],
    ["PostgreSQL's own packages on Fedora", '/usr/pgsql-18/bin', '/usr/pgsql-9.6/bin'],
    ["Arch's former version", '/opt/pgsql-17/bin'],
    [
      'Homebrew on an Apple processor',
      '/opt/homebrew/opt/postgresql@17/bin',
      '/opt/homebrew/opt/postgresql@9/bin',
    ],
    ['Homebrew on an Intel processor', '/usr/local/opt/postgresql@17/bin'],
    [
      'a Homebrew formula without a link',
      '/opt/homebrew/Cellar/postgresql@17/17.10/bin',
      '/opt/homebrew/Cellar/postgresql@17/17.9/bin',
    ],
    [
      'Postgres.app',
      '/Applications/Postgres.app/Contents/Versions/18/bin',
      '/Applications/Postgres.app/Contents/Versions/16/bin',
    ],
  ] as const)('in %s', ([, wanted, ...others]) => {
    for (const folder of [wanted, ...others]) install(folder, 'postgres', 'initdb')
    expect(findPostgres(machine())).toBe(join(root, wanted))
  })

  test("by the link that Homebrew makes to the formula's current version", () => {
    install('/opt/homebrew/Cellar/postgresql@17/17.2/bin', 'postgres', 'initdb')
    mkdirSync(join(root, 'opt/homebrew/opt'))
    symlinkSync('../Cellar/postgresql@17/17.2', join(root, 'opt/homebrew/opt/postgresql@17'))
    expect(findPostgres(machine())).toBe(join(root, 'opt/homebrew/opt/postgresql@17/bin'))
  })

  test('on the PATH, beside the target of a link to one of its programs', () => {
    install('/usr/libexec/postgresql16', 'postgres', 'initdb')
    mkdirSync(join(root, 'usr/bin'))
    symlinkSync('../libexec/postgresql16/postgres', join(root, 'usr/bin/postgres'))
    expect(findPostgres(machine({ env: { PATH: join(root, 'usr/bin') } }))).toBe(
      join(root, 'usr/libexec/postgresql16'),
    )
  })

  test('in SHOPWIRE_PG_BIN before all others', () => {
    install('/usr/lib/postgresql/15/bin', 'postgres', 'initdb')
    install('/own', 'postgres', 'initdb')
    expect(findPostgres(machine({ env: { SHOPWIRE_PG_BIN: join(root, 'own') } }))).toBe(join(root, 'own'))
  })

  test('not in a folder with clients only, as of a newer version without its server', () => {
    install('/usr/lib/postgresql/15/bin', 'postgres', 'initdb')
    install('/usr/lib/postgresql/18/bin', 'psql')
    expect(findPostgres(machine())).toBe(join(root, 'usr/lib/postgresql/15/bin'))
  })
})

test.for(['/opt/homebrew/opt/redis/bin', '/usr/local/opt/redis/bin', '/opt/homebrew/Cellar/redis/8.2.1/bin'])(
  'Redis is found in %s',
  (folder) => {
    install(folder, 'redis-server')
    expect(findRedis(machine({ platform: 'darwin' }))).toBe(join(root, folder))
  },
)

describe('when it is missing, the error names the command of this system', () => {
  test.for([
    ['darwin', undefined, 'brew install postgresql@17', 'brew install redis'],
    ['linux', 'apt-get', 'apt-get install postgresql', 'apt-get install redis-server'],
    ['linux', 'dnf', 'dnf install postgresql-server postgresql-contrib', 'dnf install redis'],
    ['linux', 'pacman', 'pacman -S postgresql', 'pacman -S valkey'],
    ['linux', 'brew', 'brew install postgresql@17', 'brew install redis'],
  ] as const)('%s with %s', ([platform, manager, postgres, redis]) => {
    if (manager) install('/usr/bin', manager)
    expect(() => findPostgres(machine({ platform }))).toThrow(
      `PostgreSQL is not installed: no postgres or initdb was found. Install it (${postgres}) or set SHOPWIRE_PG_BIN to the folder that holds postgres and initdb.`,
    )
    expect(() => findRedis(machine({ platform }))).toThrow(
      `Redis is not installed: no redis-server was found. Install it (${redis}) or set SHOPWIRE_REDIS_BIN to the folder that holds redis-server.`,
    )
  })

  test('a package manager elsewhere on the PATH counts', () => {
    install('/elsewhere', 'pacman')
    expect(() => findRedis(machine({ env: { PATH: join(root, 'elsewhere') } }))).toThrow('pacman -S valkey')
  })

  test('Linux without any of them: no command is invented', () => {
    expect(() => findRedis(machine())).toThrow(
      "Install it with your system's package manager or set SHOPWIRE_REDIS_BIN",
    )
  })

  test('Windows: WSL or the devcontainer', () => {
    expect(() => findPostgres(machine({ platform: 'win32' }))).toThrow(
      'Work in WSL (wsl --install) or in the devcontainer, or set SHOPWIRE_PG_BIN',
    )
  })
})

test('a folder in SHOPWIRE_PG_BIN or SHOPWIRE_REDIS_BIN without the programs is refused, though others have them', () => {
  install('/usr/bin', 'apt-get', 'postgres', 'initdb', 'redis-server')
  const empty = join(root, 'empty')
  const env = { PATH: join(root, 'usr/bin'), SHOPWIRE_PG_BIN: empty, SHOPWIRE_REDIS_BIN: empty }
  expect(() => findPostgres(machine({ env }))).toThrow(
    `PostgreSQL is not in ${empty}, where SHOPWIRE_PG_BIN points. Install it (apt-get install postgresql) or set`,
  )
  expect(() => findRedis(machine({ env }))).toThrow(
    `Redis is not in ${empty}, where SHOPWIRE_REDIS_BIN points.`,
  )
})

function machine(differently: Partial<Machine> = {}): Machine {
  return { root, platform: 'linux', env: {}, ...differently }
}

function install(folder: string, ...programs: string[]): void {
  for (const program of programs) {
    const path = join(root, folder, program)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '', { mode: 0o755 })
  }
}
