import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { freePort, type Postgres, type PostgresOptions, startPostgres } from '../servers/index.ts'
import { portIsFree } from '../servers/network/ports.ts'
import { descendantsOf, isAlive } from '../servers/processes/process-tree.ts'
import { psql, startBusyBackend } from './psql.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const opened: Postgres[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((postgres) => postgres.stop()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function open(options?: PostgresOptions): Promise<Postgres> {
  const postgres = await startPostgres(options)
  opened.push(postgres)
  return postgres
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'engines-test-'))
  // As root the server runs as another user, who must be able to enter this folder.
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

test('after stop() no process, no port and no folder is left', async () => {
  const postgres = await open()
  expect(await psql(postgres.superuserUrl, 'show server_version')).toContain(postgres.version)
  const family = [postgres.pid() ?? 0, ...descendantsOf(postgres.pid() ?? 0)]
  expect(family.length).toBeGreaterThan(3)

  await postgres.stop()

  expect(postgres.pid()).toBeUndefined()
  expect(family.filter(isAlive)).toEqual([])
  expect(descendantsOf(process.pid)).toEqual([])
  expect(() => statSync(postgres.dir)).toThrow('ENOENT')
  await portIsFree(postgres.port)
  await expect(postgres.start()).rejects.toThrow('keepData')
})

test('begins as a copy of a stopped server: the same data and password, and changes stay in the copy', async () => {
  const first = await open()
  await psql(first.superuserUrl, 'create table kept as select 1 as n')
  await first.stop({ keepData: true })
  const copy = await open({ copyOf: first.dir })
  expect(
    await psql(copy.superuserUrl, 'insert into kept values (2) returning (select count(*) from kept)'),
  ).toBe('1')
  const passwordOf = ({ superuserUrl }: Postgres) => new URL(superuserUrl).password
  expect(passwordOf(copy)).toBe(passwordOf(first))
  await first.start()
  expect(await psql(first.superuserUrl, 'select n from kept')).toBe('1')
})

test('accepts connections only with a password and only from this machine', async () => {
  const postgres = await open()
  await expect(psql(postgres.url('postgres', 'guess', 'postgres'), 'select 1')).rejects.toThrow(
    'password authentication failed',
  )
  expect(await psql(postgres.superuserUrl, 'show listen_addresses')).toBe('127.0.0.1')
  expect(await psql(postgres.superuserUrl, 'show unix_socket_directories')).toBe('')
  expect(statSync(postgres.dir).mode & 0o777).toBe(0o700)
})

test('url() escapes any character in a name or password', async () => {
  const postgres = await open()
  await psql(postgres.superuserUrl, `create role "a@b:c/d" login password 'p/w?#%@:'`)
  const url = postgres.url('a@b:c/d', 'p/w?#%@:', 'postgres')
  expect(await psql(url, 'select current_user')).toBe('a@b:c/d')
})

test('a durable server keeps confirmed commits after a kill and restarts on the same port', async () => {
  const postgres = await open({ durable: true })
  expect(await psql(postgres.superuserUrl, 'show fsync')).toBe('on')
  await psql(postgres.superuserUrl, 'create table kept as select generate_series(1, 1000) as n')
  const busy = await startBusyBackend(postgres.superuserUrl)
  const family = [postgres.pid() ?? 0, ...descendantsOf(postgres.pid() ?? 0)]
  expect(family).toContain(busy)

  await postgres.kill9()
  expect(family.filter(isAlive)).toEqual([])
  await expect(psql(postgres.superuserUrl, 'select 1')).rejects.toThrow('Connection refused')

  await postgres.start()
  expect(await psql(postgres.superuserUrl, 'select count(*) from kept')).toBe('1000')
})

test.each(['fast', 'immediate', 'kill9'] as const)(
  'restart(%s) starts a new process with the old data',
  async (mode) => {
    const postgres = await open()
    await psql(postgres.superuserUrl, 'create table kept as select 1 as n')
    const before = postgres.pid()
    await postgres.restart(mode)
    expect(postgres.pid()).not.toBe(before)
    expect(await psql(postgres.superuserUrl, 'select n from kept')).toBe('1')
  },
)

test('the folder of an earlier run is reused with its password', async () => {
  const dir = join(emptyFolder(), 'postgres')
  const port = await freePort()
  const first = await open({ dir, port })
  await psql(first.superuserUrl, 'create table kept as select 7 as n')
  await first.stop()

  const second = await open({ dir, port })
  expect(second.superuserUrl).toBe(first.superuserUrl)
  expect(await psql(second.superuserUrl, 'select n from kept')).toBe('7')
  expect(statSync(join(dir, 'superuser-password')).mode & 0o777).toBe(0o600)
})

test('a symbolic link in the place of its log is not followed', async () => {
  const dir = join(emptyFolder(), 'postgres')
  await (await open({ dir })).stop()
  const elsewhere = join(emptyFolder(), 'elsewhere')
  writeFileSync(elsewhere, 'mine')
  rmSync(join(dir, 'postgres.log'))
  symlinkSync(elsewhere, join(dir, 'postgres.log'))
  await expect(startPostgres({ dir })).rejects.toThrow('ELOOP')
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine')
})

test('settings of the caller override the defaults', async () => {
  const postgres = await open({ settings: { max_connections: '17', work_mem: '3MB' } })
  expect(await psql(postgres.superuserUrl, 'show max_connections')).toBe('17')
  expect(await psql(postgres.superuserUrl, 'show work_mem')).toBe('3MB')
  expect(await psql(postgres.superuserUrl, 'show fsync')).toBe('off')
  expect(await psql(postgres.superuserUrl, 'show synchronous_commit')).toBe('on')
})

test('a server that cannot start reports the reason and leaves nothing behind', async () => {
  await expect(startPostgres({ settings: { shared_buffers: 'plenty' } })).rejects.toThrow(/shared_buffers/)
  expect(descendantsOf(process.pid)).toEqual([])
})

test('a folder with other files is refused and not changed', async () => {
  const dir = emptyFolder()
  writeFileSync(join(dir, 'thesis.txt'), 'mine')
  const before = statSync(dir)
  await expect(startPostgres({ dir })).rejects.toThrow('holds other files')
  expect(statSync(dir)).toMatchObject({ uid: before.uid, mode: before.mode })
})

test.each([
  // Linux only: elsewhere there is no such place.
  ...(process.platform === 'linux'
    ? [['where there can be none', '/proc/x/y', 'no folder can be made there']]
    : []),
  ['in the place of a file', `${import.meta.filename}/x`, 'a file is in its place'],
  ['with too long a name', `/${'x'.repeat(300)}`, 'its name is too long'],
  ['deeper than PostgreSQL can go', `${tmpdir()}${'/deep'.repeat(200)}`, 'its name is too long'],
])('refuses a folder %s at once, with the reason', async (_where, dir, why) => {
  await expect(startPostgres({ dir })).rejects.toThrow(`${dir} cannot be used: ${why}`)
  expect(descendantsOf(process.pid)).toEqual([])
})

test('a port or folder in use is refused, and the process that uses it keeps running', async () => {
  const port = await freePort()
  const owner = createServer().listen(port, '127.0.0.1')
  const first = await open({ dir: join(emptyFolder(), 'postgres') })
  await Promise.all([
    expect(startPostgres({ port })).rejects.toThrow(`port ${port} on 127.0.0.1 is in use`),
    expect(startPostgres({ dir: first.dir })).rejects.toThrow(
      `in use by the PostgreSQL with pid ${first.pid()}`,
    ),
  ])
  expect(owner.listening).toBe(true)
  owner.close()
  expect(await psql(first.superuserUrl, 'select 1')).toBe('1')
})
