import { readdir } from 'node:fs/promises'
import {
  type Ended,
  runProgram,
  type Settings,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

const NOBODY = 'acct_00000000000000000000000000'
const NO_KEY = 'key_c1_00000000000000000000000000'

let system: System

beforeAll(async () => {
  system = await startSystem({ admission: 'postgres', apis: 0 })
}, START_MS_MAX)
afterAll(() => system?.stop())

test('accounts can be created, listed, funded, adjusted, shown, suspended and resumed, with text and JSON output', async () => {
  const printed = await act('accounts', 'create', 'As text')
  const id = /^Created (acct_\w{26}) "As text"\.$/m.exec(printed)?.[1] ?? ''
  const created = await actJson('accounts', 'create', 'In JSON')
  expect(created).toMatchObject({ name: 'In JSON', status: 'active' })

  expect(await ask('accounts', 'list')).toMatch(new RegExp(`^${id}\\s+active .* As text$`, 'm'))
  const { accounts, next } = await askJson('accounts', 'list', '--limit', '1')
  expect(accounts).toMatchObject([{ id, name: 'As text' }])
  expect(await askJson('accounts', 'list', '--after', next)).toMatchObject({ accounts: [{ id: created.id }] })

  expect(await act('accounts', 'fund', id, '250.00', '--reference', 'bank-1')).toMatch(
    /^Booked \$250\.00 as tr_1; balance \$250\.00\.$/m,
  )
  const again = await actJson(
    'accounts',
    'fund',
    id,
    '250.00',
    '--reference',
    'bank-1',
    '--note',
    'sent twice',
  )
  expect(again).toMatchObject({
    isNew: false,
    transfer: { change_cents: 25_000, balance_after_cents: 25_000 },
  })
  expect(await act('accounts', 'adjust', id, '-5.00', '--reference', 'case-1', '--note', 'too much')).toMatch(
    /^Booked -\$5\.00 as .*; balance \$245\.00\.$/m,
  )
  const up = await actJson('accounts', 'adjust', id, '0.01', '--reference', 'case-2', '--note', 'a cent')
  expect(up).toMatchObject({ isNew: true, transfer: { kind: 'adjustment', balance_after_cents: 24_501 } })

  expect(await ask('accounts', 'statement', id)).toMatch(/^3 .*adjustment\s+\$0\.01\s+\$245\.01\s+case-2$/m)
  const { balance_cents, transfers } = await askJson(
    'accounts',
    'statement',
    id,
    '--limit',
    '1',
    '--before',
    '3',
  )
  expect({ balance_cents, transfers }).toMatchObject({ balance_cents: 24_501, transfers: [{ seq: 2 }] })
  expect(await ask('accounts', 'show', id)).toMatch(/^active, created .*, balance \$245\.01$/m)
  expect(await askJson('accounts', 'show', id)).toMatchObject({
    account: { id },
    balance_cents: 24_501,
    keys: [],
  })

  expect(await act('accounts', 'suspend', id, '--reason', 'a test')).toContain('its next request gets 403')
  expect(await actJson('accounts', 'suspend', id, '--reason', 'again')).toMatchObject({ status: 'suspended' })
  expect(await act('accounts', 'resume', id)).toMatch(/^Resumed acct_/)
  expect(await actJson('accounts', 'resume', id)).toMatchObject({ status: 'active' })
})

test('prints and returns the same whether the program is started or takes the command as a message', async () => {
  const commands = [
    ['accounts', 'list'],
    ['accounts', 'list', '--json'],
    ['accounts', 'show', NOBODY],
    ['accounts', 'fund'],
    ['keys', 'revoke', NO_KEY],
    ['metrics', '--json'],
  ]
  for (const args of commands) {
    const [started, taken] = await Promise.all([system.runAdmin(...args), system.runCommand(...args)])
    expect(taken, args.join(' ')).toEqual(started)
  }
  const { settings } = system
  system.settings = { ...settings, SHOPWIRE_CELL: 'other' }
  expect(await system.runCommand('config')).toEqual(await system.runAdmin('config'))
  system.settings = settings
})

test('keys can be created, listed and revoked, with text and JSON output', async () => {
  const { id: account_id } = await actJson('accounts', 'create', 'Keys')
  const printed = await act(
    'keys',
    'create',
    account_id,
    '--name',
    'text',
    '--scopes',
    'webhooks:write,account:read',
  )
  expect(printed).toMatch(/^Secret {2}sk_[\w-]{43}$/m)
  expect(printed).toContain('Note: without orders:read')
  const { key } = await actJson('keys', 'create', account_id, '--name', 'json', '--scopes', 'ordering')
  expect(key.scopes).toEqual(['account:read', 'catalogue:read', 'orders:read', 'orders:write'])

  expect(await ask('keys', 'list', account_id)).toMatch(
    /^key_c1_\w{26}\s+live .* text\s+account:read webhooks:write$/m,
  )
  expect((await askJson('keys', 'list', account_id)).keys).toHaveLength(2)
  expect(await act('keys', 'revoke', key.id)).toContain('its next request gets 401')
  const revoked = await actJson('keys', 'revoke', key.id)
  expect(await ask('keys', 'list', account_id)).toMatch(new RegExp(`^${key.id}\\s+revoked`, 'm'))
  expect((await askJson('keys', 'list', account_id)).keys).toContainEqual(revoked)
})

test('the store can be shown, closed and opened, with text and JSON output', async () => {
  expect(await ask('store', 'show')).toMatch(/^The store is open since/)
  expect(await act('store', 'close', '--reason', 'stocktaking')).toMatch(
    /^The store is closed .*: stocktaking\.$/m,
  )
  expect(await askJson('store', 'show')).toMatchObject({ is_open: false, reason: 'stocktaking' })
  expect(await actJson('store', 'open')).toMatchObject({ is_open: true, reason: null })
  expect(await act('store', 'open')).toMatch(/^The store is open since/)
  expect(await actJson('store', 'close', '--reason', 'again')).toMatchObject({ is_open: false })
})

test('database, encryption and configuration commands succeed, with text and JSON output', async () => {
  const version = (await readdir(new URL('../../service/schema/tables/', import.meta.url))).length
  const both = (...args: string[]) => Promise.all([ask(...args), askJson(...args)])
  const [migrate, fits, keys, config, reference, metrics] = await Promise.all([
    both('migrate'),
    both('migrate', '--status'),
    both('encryption', 'status'),
    both('config'),
    both('config', '--reference'),
    both('metrics'),
  ])
  expect(migrate[0]).toBe(`Nothing to do; the database is at version ${version}.\n`)
  expect(migrate[1]).toEqual({ applied: [], version })
  expect(fits).toEqual(['The database fits this program.\n', { ok: true, mismatch: null }])
  expect(keys[0]).toMatch(/^e2e\s+\d+\s+active$/m)
  expect(keys[1]).toMatchObject({ keys: [{ id: 'e2e', active: true }] })
  expect(config[0]).toMatch(/^SHOPWIRE_DATABASE_URL\s+\(set, masked\)$/m)
  expect(config[1]).toMatchObject({ SHOPWIRE_ENCRYPTION_KEYS: '(set, masked)' })
  expect(reference[0]).toMatch(/^SHOPWIRE_PORT\s+8080/m)
  expect(reference[1].settings).toContainEqual({
    name: 'SHOPWIRE_PORT',
    default: '8080',
    meaning: 'port the API listens on',
    secret: false,
    accepts: { type: 'integer', minimum: 0, maximum: 65535 },
  })
  expect(metrics[0]).toMatch(/^shopwire_workers_alive\s+gauge\s+api\s+Workers that reported/m)
  expect(metrics[1].metrics).toContainEqual(
    expect.objectContaining({ name: 'shopwire_refunds_total', type: 'counter', labels: ['cause'] }),
  )

  expect(await ask('encryption', 'new-key')).toMatch(/^k\d{8}:[A-Za-z0-9+/]{43}=\n$/)
  expect((await askJson('encryption', 'new-key', 'mine')).entry).toMatch(/^mine:[A-Za-z0-9+/]{43}=$/)
  expect(await act('encryption', 're-encrypt')).toBe('0 secrets re-encrypted; all are under "e2e" now.\n')
  expect(await actJson('encryption', 're-encrypt')).toMatchObject({ re_encrypted: 0, active: 'e2e', left: 0 })
})

test('the audit log lists actor, action and target, newest first', async () => {
  const { id } = await actJson('accounts', 'create', 'Audited')
  await act('accounts', 'suspend', id, '--reason', 'a reason')
  const { actions } = await askJson('audit', '--target', id)
  expect(actions).toMatchObject([
    { action: 'account.suspend', target: id, details: { reason: 'a reason' } },
    { action: 'account.create', target: id, details: { name: 'Audited' } },
  ])
  expect(actions[0].actor).toMatch(/^cli:\w+/)
  expect(await ask('audit', '--limit', '1')).toMatch(/cli:\w+\s+account\.suspend\s+acct_.*"a reason"/)
})

test('the audit log names the actor from --actor, else from SHOPWIRE_ACTOR', async () => {
  const actorOf = async (settings: Settings, ...args: string[]) => {
    const ended = await runProgram('admin', ['accounts', 'create', 'Actor', '--json', ...args], {
      ...system.settingsOf('operator'),
      ...settings,
    })
    expect(ended.code, ended.stderr).toBe(0)
    const { actions } = await askJson('audit', '--target', JSON.parse(ended.stdout).id)
    return actions[0].actor.replace(/ \(login .*\)$/, '')
  }
  expect(await actorOf({ SHOPWIRE_ACTOR: 'nightly-import' })).toBe('cli:nightly-import')
  expect(await actorOf({ SHOPWIRE_ACTOR: 'nightly-import' }, '--actor', 'alice')).toBe('cli:alice')
})

// Only root may start a process as somebody else.
test.runIf(process.getuid?.() === 0)(
  'in production nobody changes anything without an operator token, whatever user of the machine; the first token is for whoever comes first',
  async () => {
    const production = {
      ...system.settingsOf('operator'),
      SHOPWIRE_ENV: 'production',
      NODE_COMPILE_CACHE: '',
    }
    const run = (uid: number, settings: Settings, ...args: string[]) =>
      runProgram('admin', args, { ...production, ...settings }, { uid })
    const before = await auditRows()
    for (const uid of [0, 54_321]) {
      const refused = await run(uid, {}, 'accounts', 'create', 'Nobody', '--actor', 'alice')
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      expect(refused.stderr).toMatch(/name the person.*SHOPWIRE_OPERATOR_TOKEN_FILE.*operators add/)
      expect((await run(uid, {}, 'accounts', 'list')).code).toBe(0)
    }
    expect(await auditRows()).toBe(before)

    const added = await run(54_321, {}, 'operators', 'add', 'ops@example.com', '--json')
    expect(added.code, added.stderr).toBe(0)
    const { id, token } = JSON.parse(added.stdout)
    expect(await run(54_321, {}, 'operators', 'add', 'second@example.com')).toMatchObject({ code: 5 })
    const mine = { SHOPWIRE_OPERATOR_TOKEN: token }
    const created = await run(54_321, mine, 'accounts', 'create', 'By a person', '--json', '--actor', 'alice')
    expect(created.code, created.stderr).toBe(0)
    const actorOn = async (target: string) => (await askJson('audit', '--target', target)).actions[0].actor
    expect(await actorOn(id)).toBe('cli:uid-54321 (first operator)')
    expect(await actorOn(JSON.parse(created.stdout).id)).toBe('operator:ops@example.com')

    expect(created.stderr).toBe('')
    const short = await run(0, mine, 'operators', 'add', 'brief@example.com', '--days', '7', '--json')
    const brief = { SHOPWIRE_OPERATOR_TOKEN: JSON.parse(short.stdout).token }
    expect((await run(0, brief, 'accounts', 'list')).stderr).toMatch(
      /^Warning: your operator token ends in 6 days.*operators add/,
    )
    expect((await run(0, brief, 'status')).stdout).toMatch(/^Your token +6 days left/m)

    expect((await run(0, mine, 'operators', 'revoke', 'ops@example.com', '--reason', 'left')).code).toBe(0)
    const revoked = await run(0, mine, 'accounts', 'create', 'Too late')
    expect(revoked).toMatchObject({ code: 5, stdout: '' })
    expect(revoked.stderr).not.toContain(token)
    expect((await run(0, mine, 'accounts', 'list')).code).toBe(0)
    expect(await ask('operators', 'list')).toMatch(/^ops@example\.com\s+revoked/m)
  },
)

test('an invalid command line exits with 2 and changes nothing', async () => {
  const { id } = await actJson('accounts', 'create', 'Usage')
  const mistakes = [
    ['accounts', 'destroy', id],
    ['accounts', 'create'],
    ['accounts', 'create', 'a\nb'],
    ['accounts', 'fund', id, '25', '--reference', 'r'],
    ['accounts', 'fund', id, '0.00', '--reference', 'r'],
    ['accounts', 'fund', id, '1.00'],
    ['accounts', 'list', '--limit', '0'],
    ['accounts', 'statement', id, '--before', 'yesterday'],
    ['keys', 'create', id, '--name', 'k', '--scopes', 'orders:delete'],
    ['store', 'close'],
  ]
  await refusedWith(2, mistakes)
})

test('an unknown id exits with 4', async () => {
  await refusedWith(4, [
    ['accounts', 'show', NOBODY],
    ['accounts', 'statement', NOBODY],
    ['accounts', 'fund', NOBODY, '1.00', '--reference', 'r'],
    ['accounts', 'adjust', NOBODY, '1.00', '--reference', 'r', '--note', 'n'],
    ['accounts', 'suspend', NOBODY, '--reason', 'r'],
    ['accounts', 'resume', NOBODY],
    ['keys', 'create', NOBODY, '--name', 'k', '--scopes', 'all'],
    ['keys', 'list', NOBODY],
    ['keys', 'revoke', NO_KEY],
  ])
})

test('a change that the ledger does not allow exits with 5', async () => {
  const { id } = await actJson('accounts', 'create', 'Poor')
  await refusedWith(5, [['accounts', 'adjust', id, '--reference', 'r', '--note', 'n', '--', '-0.01']])
  const { code, stderr } = await system.runAdmin(
    ...['--json', 'accounts', 'adjust', id, '--reference', 'r', '--note', 'n', '--', '-0.01'],
  )
  expect(code).toBe(5)
  expect(JSON.parse(stderr)).toMatchObject({ error: { type: 'insufficient_funds' } })
})

test('an unreachable database exits with 7', async () => {
  await system.postgres.kill9()
  const [text, json] = await Promise.all([
    system.runAdmin('accounts', 'list'),
    system.runAdmin('accounts', 'create', 'Nowhere', '--json'),
  ])
  await system.postgres.start()
  expect(text).toMatchObject({ code: 7, stdout: '' })
  expect(text.stderr).toContain('The database did not answer')
  expect(json).toMatchObject({ code: 7, stdout: '' })
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { type: 'service_unavailable' } })
})

test('an invalid configuration exits with 2; a database at another schema version exits with 3 and names the command that fixes it', async () => {
  expect(await runProgram('admin', ['accounts', 'list'], { SHOPWIRE_TYPO: '1' })).toMatchObject({ code: 2 })
  const elsewhere = new URL(system.database.processUrls.operator)
  elsewhere.pathname = '/postgres'
  const settings = { ...system.settings, SHOPWIRE_DATABASE_URL: elsewhere.href }
  const empty = await runProgram('admin', ['accounts', 'list'], settings)
  expect(empty.code).toBe(3)
  expect(empty.stderr).toContain('shopwire-admin migrate')
})

/** An action: it succeeds and leaves one row in the audit log. */
async function act(...args: string[]): Promise<string> {
  const before = await auditRows()
  const { stdout } = await succeed(args)
  expect(await auditRows(), args.join(' ')).toBe(before + 1)
  return stdout
}

async function actJson(...args: string[]) {
  return JSON.parse(await act('--json', ...args))
}

/** A read: it succeeds and leaves no row in the audit log. */
async function ask(...args: string[]): Promise<string> {
  const before = await auditRows()
  const { stdout } = await succeed(args)
  expect(await auditRows(), args.join(' ')).toBe(before)
  return stdout
}

async function askJson(...args: string[]) {
  return JSON.parse(await ask(...args, '--json'))
}

async function succeed(args: string[]): Promise<Ended> {
  const ended = await system.runCommand(...args)
  expect(ended, args.join(' ')).toMatchObject({ code: 0 })
  return ended
}

async function refusedWith(code: number, commands: string[][]): Promise<void> {
  const before = await auditRows()
  // As messages: a test above holds that the program itself prints and returns the same.
  const all = await Promise.all(commands.map((args) => system.runCommand(...args)))
  for (const [n, ended] of all.entries()) {
    const line = commands[n]?.join(' ')
    expect.soft(ended, line).toMatchObject({ code, stdout: '' })
    expect.soft(ended.stderr, line).not.toMatch(/assertion failed| at .*\.(ts|mjs|js):\d+/)
  }
  expect(await auditRows()).toBe(before)
}

async function auditRows(): Promise<number> {
  return Number(await system.query('select count(*) from audit_log'))
}
