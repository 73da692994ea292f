import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, type Postgres, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCHEMA } from '../../../src/installation.ts'
import { readDatabaseUrl, UnusableDatabase } from '../../../src/platform/database/database-url.ts'
import { openDatabase, sql } from '../../../src/platform/database/db.ts'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import { schemaMismatchAt } from '../../../src/platform/schema/schema-version.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'
import { asSuperuser } from '../../../testing/database.ts'

let postgres: Postgres
let authority: Awaited<ReturnType<typeof createAuthority>>
let stranger: Awaited<ReturnType<typeof createAuthority>>
let folder: string
let ownerUrl: string
let apiUrl: string

beforeAll(async () => {
  ;[postgres, authority, stranger, folder] = await Promise.all([
    startPostgres(),
    createAuthority(),
    createAuthority(),
    mkdtemp(join(tmpdir(), 'shopwire-pg-tls-')),
  ])
  const database = await provisionDatabase(postgres, 'shopwire')
  ownerUrl = database.ownerUrl
  apiUrl = database.processUrls.api
  // Whoever comes without TLS is refused, but for the superuser, who changes certificates.
  const hba = join(postgres.dir, 'data/pg_hba.conf')
  const superuser = new URL(postgres.superuserUrl).username
  await writeFile(hba, `host all ${superuser} all scram-sha-256\nhostssl all all all scram-sha-256\n`)
  await serveCertificate('IP:127.0.0.1')
}, 60_000)
afterAll(async () => {
  await postgres.stop()
  await Promise.all([rm(folder, { recursive: true }), authority.remove(), stranger.remove()])
})

async function serveCertificate(names: string, days = 1): Promise<void> {
  const data = join(postgres.dir, 'data')
  const { uid, gid } = await stat(data)
  const { key, cert } = await authority.issue(names, { days })
  for (const [name, text] of [
    ['server.key', key],
    ['server.crt', cert],
  ] as const) {
    await writeFile(join(data, name), text, { mode: 0o600 })
    await chown(join(data, name), uid, gid)
  }
  await asSuperuser(async (client) => {
    await client.query('alter system set ssl = on')
    await client.query('select pg_reload_conf()')
  }, postgres.superuserUrl)
}

const checked = (url: string, file = authority.file) => `${url}?sslmode=verify-full&sslrootcert=${file}`

/** By the pool of the programs, which retries nothing: the error, or whether the session is encrypted. */
async function ask(url: string): Promise<unknown> {
  const db = openDatabase(
    {
      url,
      application_name: 'test',
      connectionsMax: 1,
      connectMsMax: 10_000,
      statementMsMax: 10_000,
      lockMsMax: 1_000,
      namedStatements: true,
    },
    () => {},
  )
  try {
    const { ssl } = await db.one<{ ssl: boolean }>(
      sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`,
    )
    return ssl
  } catch (error) {
    return error
  } finally {
    await db.close()
  }
}

async function expectUnusable(url: string, reason: RegExp): Promise<void> {
  const error = await ask(url)
  expect(error).toBeInstanceOf(Unavailable)
  expect((error as Error).cause).toBeInstanceOf(UnusableDatabase)
  expect(String((error as Error).cause)).toMatch(reason)
  const { password } = new URL(url)
  expect(JSON.stringify([String(error), String((error as Error).cause)])).not.toContain(password)
  await expect(schemaMismatchAt(url, SCHEMA)).rejects.toThrow(reason)
}

test('with verify-full and the right authority the database is migrated and asked by TLS; without TLS it is refused', async () => {
  await migrate(checked(ownerUrl), SCHEMA)
  expect(await ask(checked(apiUrl))).toBe(true)
  expect(await schemaMismatchAt(checked(apiUrl), SCHEMA)).toBeUndefined()
  expect(String(await ask(apiUrl))).toMatch(/no encryption/)
}, 60_000)

test('a certificate of another authority, for another name, or expired: 503 for callers, and the reason says what to do', async () => {
  await expectUnusable(checked(apiUrl, stranger.file), /authority is not trusted.*sslrootcert/)
  await expectUnusable(
    checked(apiUrl.replace('127.0.0.1', 'localhost')),
    /ERR_TLS_CERT_ALTNAME_INVALID.*another host name/,
  )
  await serveCertificate('IP:127.0.0.1', -1)
  await expectUnusable(checked(apiUrl), /CERT_HAS_EXPIRED.*Renew it/)
  await serveCertificate('IP:127.0.0.1')
  expect(await ask(checked(apiUrl))).toBe(true)
}, 60_000)

test('a server without TLS is not asked when the URL wants it', async () => {
  await asSuperuser(async (client) => {
    await client.query('alter system set ssl = off')
    await client.query('select pg_reload_conf()')
  }, postgres.superuserUrl)
  await expectUnusable(checked(apiUrl), /offers no TLS.*ssl = on/)
})

test.each([
  ['', false],
  ['?sslmode=disable', false],
  ['?sslmode=no-verify', false],
  ['?uselibpqcompat=true&sslmode=require', false],
  ['?sslmode=prefer', true],
  ['?sslmode=require', true],
  ['?sslmode=verify-ca', true],
  ['?sslmode=verify-full', true],
])('the driver checks the certificate with "%s": %s', (query, isChecked) => {
  expect(readDatabaseUrl(`postgres://u:p@db.internal/x${query}`).isChecked).toBe(isChecked)
})
