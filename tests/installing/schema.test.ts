import { readdir } from 'node:fs/promises'
import {
  type Postgres,
  type ProvisionedDatabase,
  provisionDatabase,
  startPostgres,
} from '@shopwire/test-kit/servers'
import {
  createOperator,
  type Ended,
  loginSettings,
  ownerSettings,
  psql,
  runProgram,
  sharedSettings,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

let postgres: Postgres

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.stop())

test('an API process exits with 3 on a database that was not migrated, and names the command', async () => {
  const database = await provisionDatabase(postgres, 'not_migrated')
  const ended = await Promise.all([runApi(database), runApi(database)])
  for (const { code, stdout } of ended) {
    expect(code).toBe(3)
    expect(stdout).toContain('shopwire-admin migrate')
  }
})

test('the admin command refuses a database of another version with the words of the API and exits with 3', async () => {
  const database = await provisionDatabase(postgres, 'admin_version')
  const settings = { ...sharedSettings(), ...loginSettings(database, 'operator') }
  const operator = createOperator(() => settings)
  onTestFinished(() => operator.closeOperator())
  const admin = operator.runCommand
  const refused = async (words: string) => {
    const all = [['accounts', 'list'], ['accounts', 'create', 'A'], ['verify'], ['encryption', 'status']]
    for (const { code, stdout, stderr } of await Promise.all(all.map((args) => admin(...args)))) {
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
      expect(stderr).toContain(words)
    }
    expect(await runProgram('admin', ['migrate', '--status', '--json'], settings)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('"schema_mismatch"'),
    })
  }
  await refused('The database is at version 0')
  const exempt = [['config'], ['config', '--reference'], ['metrics'], ['encryption', 'new-key'], ['--help']]
  const ended = await Promise.all(exempt.map((args) => admin(...args)))
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  expect((await migrate(database)).code).toBe(0)
  expect((await admin('accounts', 'create', 'A')).code).toBe(0)
  const next = (await migrationFiles()).length + 1
  await psql(
    database.ownerUrl,
    `insert into schema_migrations (number, name, checksum, compatible_with) values (${next}, 'of_tomorrow.sql', 'x', ${next})`,
  )
  await refused('newer than this program')
  expect(await psql(database.ownerUrl, 'select count(*) from accounts')).toBe('1')
})

test('migrate needs only the database URL of the owner', async () => {
  const database = await provisionDatabase(postgres, 'owner_only')
  const owner = { SHOPWIRE_ENV: 'development', ...ownerSettings(database) }
  const status = () => runProgram('admin', ['migrate', '--status'], owner)
  expect((await status()).code).toBe(3)
  expect(await runProgram('admin', ['migrate'], owner)).toMatchObject({ code: 0 })
  expect(await runProgram('migrate', [], owner)).toMatchObject({ code: 0 })
  expect(await status()).toMatchObject({ code: 0, stdout: 'The database fits this program.\n' })
  for (const [name, args] of [
    ['migrate', []],
    ['admin', ['migrate']],
  ] as const) {
    const { code, stderr } = await runProgram(name, args, {
      ...sharedSettings(),
      ...loginSettings(database, 'operator'),
    })
    expect(code).toBe(2)
    expect(stderr).toContain('SHOPWIRE_DATABASE_OWNER_URL is required to migrate')
    expect(stderr).toContain('1 problem(s)')
  }
})

test('five migrations started at once all succeed, and each file is applied once', async () => {
  const database = await provisionDatabase(postgres, 'five_at_once')
  const ended = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    ended.map(() => ({ code: 0, stderr: '' })),
  )
  const applied = ended.flatMap(({ stdout }) => stdout.match(/(?<=applying )\S+/g) ?? [])
  expect(applied.sort()).toEqual(await migrationFiles())
  const recorded = await psql(database.ownerUrl, 'select name from schema_migrations order by number')
  expect(recorded.split('\n')).toEqual(await migrationFiles())
})

test('a database newer than the program is refused by API and migration alike, and left as it is', async () => {
  const database = await provisionDatabase(postgres, 'newer')
  expect((await migrate(database)).code).toBe(0)
  const next = (await migrationFiles()).length + 1
  const insert = `insert into schema_migrations (number, name, checksum, compatible_with) values (${next}, 'of_tomorrow.sql', 'x', ${next})`
  await psql(database.ownerUrl, insert)

  const api = await runApi(database)
  expect(api.code).toBe(3)
  expect(api.stdout).toContain('newer than this program')
  const migration = await migrate(database)
  expect(migration.code).toBe(1)
  expect(migration.stderr).toContain('newer than this program')
  expect(await psql(database.ownerUrl, 'select count(*) from schema_migrations')).toBe(String(next))
})

test('a database whose history was rewritten is refused', async () => {
  const database = await provisionDatabase(postgres, 'rewritten')
  expect((await migrate(database)).code).toBe(0)
  await psql(database.ownerUrl, "update schema_migrations set checksum = 'x' where number = 2")
  const api = await runApi(database)
  expect(api.code).toBe(3)
  expect(api.stdout).toContain('was applied with other contents')
  expect((await migrate(database)).code).toBe(1)
})

function runApi(database: ProvisionedDatabase): Promise<Ended> {
  const anyPort = { SHOPWIRE_PORT: '0', SHOPWIRE_HEALTH_PORT: '0' }
  return runProgram('api', [], { ...sharedSettings(), ...loginSettings(database, 'api'), ...anyPort })
}

function migrate(database: ProvisionedDatabase): Promise<Ended> {
  return runProgram('migrate', [], { ...sharedSettings(), ...ownerSettings(database) })
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(new URL('../../service/schema/tables/', import.meta.url))).sort()
}
