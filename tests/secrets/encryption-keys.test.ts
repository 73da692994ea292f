import { startKms } from '@shopwire/test-kit/receivers/kms'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { openShop } from '@shopwire/test-kit/shops/shop'
import {
  newEncryptionKey,
  runProgram,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ANY_PORT = { SHOPWIRE_PORT: '0', SHOPWIRE_HEALTH_PORT: '0' }

let system: System
let account_id: string

beforeAll(async () => {
  system = await startSystem({ admission: 'postgres', apis: 1 })
  account_id = (await system.createAccount()).account_id
}, START_MS_MAX)
afterAll(() => system?.stop())

const keyCount = () => system.query('select count(*) from api_keys')

test.each(['api', 'worker'] as const)(
  '%s exits with 2 when a known key id has another key, and names the id, not the key',
  async (name) => {
    const wrong = newEncryptionKey('e2e')
    const ended = await runProgram(name, [], {
      ...system.settingsOf(name),
      ...ANY_PORT,
      SHOPWIRE_ENCRYPTION_KEYS: wrong,
    })
    expect(ended.code).toBe(2)
    expect(ended.stdout).toContain(
      'The encryption key \\"e2e\\" in SHOPWIRE_ENCRYPTION_KEYS does not match the key',
    )
    expect(ended.stdout).toContain('Put the right key back')
    expect(ended.stdout + ended.stderr).not.toContain(wrong.split(':')[1])
    expect(ended.stdout).not.toContain('"ready"')
  },
)

test('keys create is refused and creates no key when a known key id has another key; keys revoke still works', async () => {
  const { key } = await system.admin('keys', 'create', account_id, '--name', 'leaked', '--scopes', 'all')
  const before = await keyCount()
  const wrong = newEncryptionKey('e2e')
  const admin = (...args: string[]) =>
    runProgram('admin', args, { ...system.settingsOf('operator'), SHOPWIRE_ENCRYPTION_KEYS: wrong })
  const refused = await admin('keys', 'create', account_id, '--name', 'dead', '--scopes', 'all')
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('"e2e" in SHOPWIRE_ENCRYPTION_KEYS'),
  })
  expect(await keyCount()).toBe(before)
  expect((await admin('keys', 'revoke', key.id)).code).toBe(0)
  const status = await admin('encryption', 'status')
  expect(status).toMatchObject({ code: 1, stderr: expect.stringContaining('put the right one back') })
  expect(status.stdout).toMatch(/^e2e +\d+ +WRONG/m)
  expect(status.stdout).not.toContain('active')
})

test('re-encrypt continues past values that cannot be decrypted, names their rows, and exits with 1', async () => {
  const shop = openShop(system)
  const [item = ''] = await shop.sell(100)
  await shop.stock(item, 300)
  const damaged = await system.query('select id from pool_links order by item_id, id limit 1')
  await system.query(
    `update pool_links set link_sealed = set_byte(link_sealed, 40, get_byte(link_sealed, 40) # 1) where id = '${damaged}'`,
  )
  // Sealed under a key that was taken out of the configuration too early.
  const gone = newEncryptionKey('gone')
  const current = system.settings.SHOPWIRE_ENCRYPTION_KEYS
  const withGone = { ...system.settingsOf('operator'), SHOPWIRE_ENCRYPTION_KEYS: `${gone},${current}` }
  const supplier = ['suppliers', 'create', 'acme', 'https://acme.example/links']
  expect((await runProgram('admin', supplier, withGone)).code).toBe(0)

  const next = newEncryptionKey('next')
  const rotated = { ...system.settingsOf('operator'), SHOPWIRE_ENCRYPTION_KEYS: `${next},${current}` }
  const ended = await runProgram('admin', ['encryption', 're-encrypt', '--json'], rotated)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(
    `does not open: pool_links (item_id=${item}, id=${damaged}), sealed under "e2e"`,
  )
  expect(ended.stderr).toContain('does not open: suppliers (name=acme), sealed under "gone"')
  expect(ended.stderr).toContain('2 values could not be opened')
  const printed = JSON.parse(ended.stdout)
  expect(printed).toMatchObject({ active: 'next', unopened: 2, left: 2 })
  expect(printed.rows).toHaveLength(2)
  expect(await system.query('select link_kek_id, count(*) from pool_links group by 1 order by 1')).toBe(
    'e2e|1\nnext|299',
  )
  const { actions } = await system.admin('audit', '--target', 'next')
  expect(actions[0]).toMatchObject({
    action: 'encryption.re-encrypt',
    details: { re_encrypted: printed.re_encrypted, unopened: 2 },
  })
})

test('with a key of AWS KMS every program asks KMS at its start and never again; one that gets no key does not start', async ({
  onTestFinished,
}) => {
  const kms = await startKms()
  kms.createKey('shopwire')
  const newKey = ['encryption', 'new-key', 'cloud', '--aws-kms', 'alias/shopwire']
  const made = await runProgram('admin', newKey, kms.settings)
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cloud:aws-kms:arn:aws:kms:\S+\n$/) })
  const entry = made.stdout.trim()
  const cloud = await startSystem({
    admission: 'postgres',
    postgres: system.postgres,
    databaseName: 'cloud',
    settings: { ...kms.settings, SHOPWIRE_LOG_LEVEL: 'debug', SHOPWIRE_ENCRYPTION_KEYS: entry },
  })
  onTestFinished(() => cloud.stop())
  const { key } = await cloud.createAccount()
  const processes = [...cloud.apis, await cloud.startWorker(), await cloud.startDashboard()]
  // One for the new key; then API, the command that made a key, worker and dashboard.
  expect(kms.asked.map(({ operation }) => operation)).toEqual([
    'GenerateDataKeyWithoutPlaintext',
    ...Array.from({ length: 4 }, () => 'Decrypt'),
  ])
  expect(await cloud.admin('encryption', 'status')).toEqual({
    keys: [{ id: 'cloud', secrets: 3, configured: true, active: true, wrong: false }],
  })

  kms.misbehave({ error: 'AccessDeniedException' })
  const refused = await runProgram('worker', [], { ...cloud.settingsOf('worker'), ...ANY_PORT })
  expect(refused).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('Allow kms:Decrypt on arn:aws:kms:'),
  })
  await kms.close()
  expect((await exchange(cloud.ports[0] ?? 0, sign(key, 'GET', '/v1/ping').bytes)).status).toBe(200)
  const unreachable = await runProgram('api', [], { ...cloud.settingsOf('api'), ...ANY_PORT })
  expect(unreachable).toMatchObject({ code: 1, stdout: expect.stringContaining('(ECONNREFUSED, Decrypt)') })
  expect(unreachable.stdout).not.toContain('"ready"')
  const printed = [refused, unreachable, await cloud.runAdmin('config')].map((p) => p.stdout + p.stderr)
  for (const text of [...printed, ...processes.map((process) => process.logs())]) {
    for (const secret of [...kms.secrets, entry]) expect(text).not.toContain(secret)
  }
})
