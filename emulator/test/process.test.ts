import { once } from 'node:events'
import { lstat, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readArguments, whyNotThisNode } from '../src/arguments.ts'
import { PortTaken, startEmulator } from '../src/index.ts'
import { openTestFolder, startProgram, type TestFolder } from './program.ts'
import { call, clientOf, orderBody, ordersOf, ring } from './support.ts'

const BIN = join(import.meta.dirname, '../bin/emulator.ts')

let testFolder: TestFolder

beforeAll(async () => {
  testFolder = await openTestFolder()
})

afterAll(() => testFolder.remove())

const start = (...args: string[]) => startProgram(process.execPath, [BIN, '--port', '0', ...args], testFolder)

test('leaves no process and no file after SIGTERM', async () => {
  const file = join(testFolder.path, 'key.env')
  // A symbolic link planted by another user must not be followed when the secret is written.
  await symlink(join(testFolder.path, 'elsewhere'), file)
  const program = start('--json', '--write-env', file, '--balance', '12.5')
  const { base_url, url, key } = await program.ready
  const balance = await call({ url }, { key }, 'GET', '/v1/balance')
  expect([balance.status, balance.body.balance_cents]).toEqual([200, 1_250])
  expect(await readFile(file, 'utf8')).toContain(
    `SHOPWIRE_BASE_URL=${base_url}\nSHOPWIRE_API_KEY=${key.id}\n`,
  )
  expect((await lstat(file)).mode & 0o170777).toBe(0o100600)
  expect(program.said()).toBe('')
  // An open stream must not keep it from stopping.
  const stream = await fetch(`${url}/_emulator/stream`)
  program.child.kill('SIGTERM')
  expect(await program.exited).toBe(0)
  await stream.text()
  expect(await testFolder.leftovers()).toEqual(['key.env'])
})

test('leaves no process and no file after Ctrl-C during the start', async () => {
  const program = start('--json')
  await expect
    .poll(async () => (await testFolder.leftovers()).some((one) => one.includes('postgres')))
    .toBe(true)
  program.child.kill('SIGINT')
  expect(await program.exited).toBe(0)
  expect(program.said()).toBe('')
  expect((await testFolder.leftovers()).filter((one) => one !== 'key.env')).toEqual([])
})

test('a signal that arrives twice within a short time counts once', async () => {
  const program = start('--json')
  await program.ready
  program.child.kill('SIGINT')
  program.child.kill('SIGINT')
  expect(await program.exited).toBe(0)
})

test('reports it and exits when its data folder is removed', async () => {
  const data = join(testFolder.path, 'removed')
  const program = start('--json', '--data', data)
  await program.ready
  // Renamed in one step, because PostgreSQL creates files while others are being removed.
  await rename(data, `${data}-away`)
  expect(await program.exited).toBe(1)
  await rm(`${data}-away`, { recursive: true })
  expect(program.said()).toBe(
    `${data}/postgres was removed, and the emulator cannot work without it. Start it again.\n`,
  )
})

test('the database ends when the emulator is killed with SIGKILL', async () => {
  const program = start('--json')
  await program.ready
  program.child.kill('SIGKILL')
  await program.exited
  await expect.poll(async () => (await testFolder.leftovers()).filter((one) => one !== 'key.env')).toEqual([])
})

test('warns when it listens on a network address', async () => {
  const program = start('--json', '--host', '0.0.0.0')
  await expect.poll(() => program.said()).toContain('Anyone who can reach this port can use the emulator')
  program.child.kill('SIGINT')
  await program.exited
})

test('reports a port in use at once, with what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const program = startProgram(process.execPath, [BIN, '--port', String(port)], testFolder)
  expect(await program.exited).toBe(1)
  expect(program.said()).toBe(
    `Port ${port} is in use, perhaps by another emulator. Stop it, or choose another: --port ${port + 1}\n`,
  )
  await expect(startEmulator({ port })).rejects.toThrow(PortTaken)
  other.close()
})

test('reports an unusable data folder at once, with what to do', async () => {
  const program = start('--data', BIN)
  expect(await program.exited).toBe(1)
  expect(program.said()).toBe(
    `${BIN}/postgres cannot be used: a file is in its place. ` +
      'Choose another folder, such as --data .shopwire, or leave --data out to keep no data.\n',
  )
})

test('reports wrong options before anything starts', async () => {
  const program = startProgram(process.execPath, [BIN, '--nonsense'], testFolder)
  expect(await program.exited).toBe(2)
  expect(program.said()).toContain('--nonsense')
  expect(program.said()).toContain('--help')
})

test('does not overwrite an env file that it did not write', async () => {
  const file = join(testFolder.path, 'mine.env')
  await writeFile(file, 'DATABASE_PASSWORD=mine\n')
  const program = start('--write-env', file)
  expect(await program.exited).toBe(2)
  expect(program.said()).toContain('was not changed')
  expect(await readFile(file, 'utf8')).toBe('DATABASE_PASSWORD=mine\n')
  await rm(file)
})

test('refuses a Node that is too old', () => {
  expect(whyNotThisNode('20.20.2')).toContain('needs Node 22.19 or newer, and this is 20.20.2')
  expect(whyNotThisNode('22.18.0')).toBeDefined()
  for (const version of ['22.19.0', '24.1.0', '26.0.0']) expect(whyNotThisNode(version)).toBeUndefined()
})

test('reports an unwritable env file before anything starts', async () => {
  const program = start('--write-env', join(testFolder.path, 'nowhere', '.env'))
  expect(await program.exited).toBe(2)
  expect(program.said()).toContain('its folder does not exist')
})

test.each([
  [['--port', 'x'], '--port must be a whole number'],
  [['--balance', '1,50'], '--balance must be an amount such as 250.00'],
  [['--fulfil-after', 'soon'], '--fulfil-after must be a time such as'],
  [['--data', ''], '--data needs the name of a folder'],
  [['--webhook-secret', 'x'], '--webhook-secret needs --webhook'],
  [['--fault', 'slow_answer:ms'], 'is not key=value'],
])('refuses %j', (args, why) => {
  expect(() => readArguments(args)).toThrow(why)
})

test('parses every option', () => {
  const given =
    '--port 1 --host ::1 --data d --balance 2.5 --webhook http://localhost:3/ --webhook-secret s --fulfil-after 2s ' +
    '--requests-per-minute 4 --orders-per-minute 5 --fault slow_answer:ms=6,on=*,times=0 --fault lost_answer --json'
  expect(readArguments(given.split(' '))).toMatchObject({
    isJson: true,
    options: {
      port: 1,
      host: '::1',
      data: 'd',
      balanceCents: 250,
      webhook: { url: 'http://localhost:3/', secret: 's' },
      fulfilAfterMs: 2_000,
      requestsPerMinute: 4,
      ordersPerMinute: 5,
      faults: [{ name: 'slow_answer', ms: 6, on: '*', times: 0 }, { name: 'lost_answer' }],
    },
  })
})

test('with --data the data is kept for the next start, and the key stays valid', async () => {
  const data = join(testFolder.path, 'kept')
  const first = await startEmulator({ data, fulfilAfterMs: 60_000 })
  const order = await clientOf(first, first).orders.create(ring())
  const extra = await first.createAccount()
  await first.arm({ name: 'store_closed' })
  await first.stop()
  const second = await startEmulator({ data })
  try {
    expect(await ordersOf(second, second.accountId)).toMatchObject([{ id: order.id }])
    expect(await clientOf(second, extra).balance()).toMatchObject({ balance_cents: 25_000 })
    // Faults are not kept, so the store is open again.
    await clientOf(second, second).orders.create(ring())
    await expect
      .poll(async () => (await clientOf(second, second).orders.get(order.id)).status)
      .toBe('delivered')
  } finally {
    await second.stop()
  }
})

test('refuses a second emulator on the same folder, and starts on it after the first was killed', async () => {
  const data = join(testFolder.path, 'shared')
  const first = start('--json', '--data', data)
  const { url, key } = await first.ready
  await call({ url }, { key }, 'POST', '/v1/orders', { body: orderBody() })
  const second = start('--data', data)
  expect(await second.exited).toBe(1)
  expect(second.said()).toMatch(
    /in use by the PostgreSQL with pid \d+, perhaps of another emulator\. Stop it, or/,
  )
  first.child.kill('SIGKILL')
  const third = start('--json', '--data', data)
  expect((await call(await third.ready, { key }, 'GET', '/v1/orders')).body.orders).toHaveLength(1)
  third.child.kill('SIGTERM')
  expect(await third.exited).toBe(0)
  await rm(data, { recursive: true })
})

test('reports kept data of another version with what to do, and does not change it', async () => {
  const data = join(testFolder.path, 'foreign')
  await (await startEmulator({ data })).stop()
  const version = join(data, 'postgres/data/PG_VERSION')
  await writeFile(version, '12\n')
  const program = start('--data', data)
  expect(await program.exited).toBe(1)
  expect(program.said()).toContain('initialized by PostgreSQL version 12')
  expect(program.said()).toContain(`If it is the data kept in ${data}: move it away`)
  expect(await readFile(version, 'utf8')).toBe('12\n')
  await rm(data, { recursive: true })
})
