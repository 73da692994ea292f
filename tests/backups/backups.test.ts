import { execFile } from 'node:child_process'
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openMachine, variablesOf } from '@shopwire/test-kit/pages/runbook'
import { findPostgres, startPostgres } from '@shopwire/test-kit/servers'
import {
  expectHeldOnce,
  expectQuarantine,
  expectVerified,
  openDrillStore,
  openRestored,
  startRestored,
} from '@shopwire/test-kit/shops/restore-drill'
import { type BackupRig, openBackupRig, psql, runProgram, startSystem } from '@shopwire/test-kit/systems'
import { expect, onTestFinished, test } from 'vitest'

/** Backups with real pgBackRest, by "shopwire backup" as operators run it. */

test('a restore to a second between two orders has the first, misses the second, and the store sells no link twice after it is opened', async () => {
  const machine = await openMachine()
  const rig = await openRig()
  const postgres = await startPostgres({ settings: rig.postgresSettings })
  onTestFinished(() => postgres.stop())
  const store = await openDrillStore(postgres, 60)
  expectOk(await rig.init(postgres))
  const first = await store.handOut(await store.buy(3))
  const second = await nextSecond()
  const lost = await store.handOut(await store.buy(2))
  expectOk(await rig.run('check'))
  await expectRefusals(rig, second)
  await store.die()
  // As the runbook asks on a machine that has the repository only.
  await rm(join(rig.folder, 'state/status.json'))
  const asked = await rig.run('--json', 'status')
  expect(Date.parse(JSON.parse(asked.stdout).window.to)).toBeGreaterThanOrEqual(Date.parse(second))

  const shopwire = join(machine.backups, 'shopwire')
  const program = process.env.SHOPWIRE_PROGRAMS ?? ''
  await writeFile(shopwire, `#!/bin/sh\nshift\nexec ${process.execPath} ${program}/backup.mjs "$@"\n`, {
    mode: 0o755,
  })
  const variables = {
    ...variablesOf(postgres),
    ...rig.settings,
    SECOND: second,
    PATH: `${machine.backups}:${findPostgres()}:/usr/bin:/bin`,
  }
  const printed = await machine.run('restore', 'pgbackrest', variables)
  expect(printed).toContain('3 orders')
  // Which timeline follows which is archived: without it the next restore would follow the old one.
  const archive = await readdir(join(rig.repository, 'archive/shopwire'), { recursive: true })
  expect(archive.filter((name) => name.includes('00000002.history'))).toHaveLength(1)

  const restored = await startRestored(store, machine)
  await expectQuarantine(store, restored, /is not the one the store last ran on/, [])
  const found = await openRestored(restored)
  expect(found.orders.filter(({ status }: { status: string | null }) => status === null)).toHaveLength(2)
  const next = await restored.handOut(await restored.buy(20))
  expectHeldOnce(first, lost, next)
  await expectVerified(restored)
})

/** Nothing is restored over anything, nor to a second that nobody can reach. */
async function expectRefusals(rig: BackupRig, second: string) {
  const into = join(rig.folder, 'state/full')
  await mkdir(into)
  await writeFile(join(into, 'a-file'), '')
  const refusals = [
    [second, into, `${into} is not empty; nothing was changed.`],
    ['2020-01-01T00:00:00Z', `${into}2`, 'is before the oldest backup that is kept. Seconds from '],
    ['2099-01-01T00:00:00Z', `${into}2`, 'is after the last WAL file in the archive. Seconds from '],
    ['yesterday', `${into}2`, '"yesterday" is not a second in UTC.'],
  ] as const
  for (const [to, folder, why] of refusals) {
    const { code, stderr } = await rig.run('restore', '--to', to, '--into', folder)
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)])
  }
  expect(await readdir(into)).toEqual(['a-file'])
}

test('init with a wrong port, then with the right one: it corrects that line of the configuration and leaves the others', async () => {
  const rig = await openRig()
  const postgres = await startPostgres({ settings: rig.postgresSettings })
  onTestFinished(() => postgres.stop())
  const data = join(postgres.dir, 'data')
  const wrong = await rig.run('init', '--pgdata', data, '--port', '1', '--repository', rig.repository)
  expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('Wrote ')])
  const conf = join(rig.config, 'pgbackrest.conf')
  await writeFile(conf, (await readFile(conf, 'utf8')).replace('process-max=2', 'process-max=1'))
  const corrected = await rig.init(postgres)
  expectOk(corrected)
  expect(corrected.stdout).toContain(`Changed pg1-port in ${conf}: 1 is now ${postgres.port}.`)
  expect(await readFile(conf, 'utf8')).toContain('process-max=1')
})

test('a backup that cannot be restored is noticed: damaged file, missing WAL file, wrong passphrase, violated rule; a good one is recorded', async () => {
  const rig = await openRig()
  const postgres = await startPostgres({ settings: rig.postgresSettings })
  onTestFinished(() => postgres.stop())
  const system = await startSystem({ admission: 'postgres', postgres, apis: 0 })
  onTestFinished(() => system.stop())
  const { account_id } = await system.createAccount({ balanceCents: 1_000 })
  const status = () =>
    runProgram('admin', ['--json', 'backup', 'status'], { ...system.settingsOf('operator'), ...rig.settings })
  expect(await status()).toMatchObject({ code: 1, stderr: expect.stringContaining('no record of a backup') })
  expectOk(await rig.init(postgres))
  expectOk(await rig.run('diff'))
  expect((await status()).stderr).toContain('The last good restore test is of never')
  expectOk(await rig.run('test-restore'))
  expectOk(await status())
  const good = await gauges(rig)
  expect(good).toMatchObject({ backup_check_success: 1, restore_test_success: 1 })
  expect(good.restore_test_last_success_timestamp_seconds).toBeGreaterThan(Date.now() / 1000 - 60)
  expect(await readdir(join(rig.folder, 'state'))).not.toContain('restore-test')

  const whole = `${rig.repository}.whole`
  await copy(rig.repository, whole)
  const files = await readdir(rig.repository, { recursive: true })
  const fails = async (command: string, why: string, damage: () => Promise<void>) => {
    await damage()
    const { code, stderr } = await rig.run(command)
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)])
    const shown = await status()
    expect([shown.code, shown.stderr]).toEqual([1, expect.stringContaining(why)])
  }
  // Only that file: PostgreSQL has archived others meanwhile.
  const repair = async (name: string) => {
    await rm(join(rig.repository, name), { force: true })
    await copy(join(whole, name), join(rig.repository, name))
  }

  const bundle = files.find((name) => /F\/bundle\/1$/.test(name)) ?? ''
  await fails('test-restore', 'Files of the repository are damaged or missing', () =>
    flipBytes(join(rig.repository, bundle)),
  )
  await repair(bundle)

  const segments = files.filter((name) => /[0-9A-F]{24}-[0-9a-f]{40}/.test(name)).sort()
  const middle = segments.at(-2) ?? ''
  const segment = /([0-9A-F]{24})-/.exec(middle)?.[1] ?? ''
  await fails('check', `WAL files are missing in the archive: ${segment}`, () =>
    rm(join(rig.repository, middle)),
  )
  await repair(middle)

  // pgBackRest reads a damaged file again after 15 seconds.
  await fails('test-restore', segment, () => flipBytes(join(rig.repository, middle)))
  await repair(middle)

  const cipher = join(rig.config, 'conf.d/cipher.conf')
  const right = await readFile(cipher, 'utf8')
  await fails('check', 'another passphrase than the one in conf.d/cipher.conf', () =>
    writeFile(cipher, right.replace(/pass=./, 'pass=')),
  )
  await writeFile(cipher, right)

  await psql(
    system.database.ownerUrl,
    `update balances set balance_cents = balance_cents + 1 where account_id = '${account_id}'`,
  )
  await fails('test-restore', 'rules are violated: M', async () => expectOk(await rig.run('check')))

  const now = await gauges(rig)
  expect(now).toMatchObject({ backup_check_success: 1, restore_test_success: 0 })
  for (const name of [
    'restore_test_last_success_timestamp_seconds',
    'backup_last_success_timestamp_seconds',
  ] as const)
    expect(now[name]).toBe(good[name])
})

async function openRig(): Promise<BackupRig> {
  const rig = await openBackupRig()
  onTestFinished(() => rig.close())
  return rig
}

function expectOk({ code, stderr }: { code: number | null; stderr: string }) {
  expect([code, code === 0 ? '' : stderr]).toEqual([0, ''])
}

/** A whole second that lies after everything that was done, and before everything that follows. */
async function nextSecond(): Promise<string> {
  const at = Math.ceil((Date.now() + 1) / 1_000) * 1_000
  await sleep(at - Date.now() + 10)
  return new Date(at).toISOString().replace('.000', '')
}

async function gauges(rig: BackupRig): Promise<Record<string, number>> {
  const lines = (await readFile(rig.metricsFile, 'utf8')).split('\n')
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name = '', value] = /^shopwire_(\w+) (\S+)$/.exec(line) ?? []
      return value === undefined ? [] : [[name, Number(value)]]
    }),
  )
}

/** With owners and times. */
const copy = (from: string, to: string) => promisify(execFile)('cp', ['--archive', from, to])

async function flipBytes(path: string) {
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  const bytes = Buffer.alloc(16)
  const at = Math.floor(size / 2)
  await file.read(bytes, 0, bytes.length, at)
  await file.write(
    bytes.map((byte) => byte ^ 0xff),
    0,
    bytes.length,
    at,
  )
  await file.close()
}
