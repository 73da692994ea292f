import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { Shopwire } from '@shopwire/sdk'
import { ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Not a dependency of the workspace: 151 packages and 66 MB. */
const NEWMAN = 'newman@6.2.2'
const COLLECTION = join(ROOT, 'docs/shopwire.postman_collection.json')
const ITEM = '1144058340327047001'
const INSTALL_MS_MAX = 200_000

let emulator: Emulator
let newman: string

beforeAll(async () => {
  emulator = await startEmulator()
  newman = await installNewman()
}, INSTALL_MS_MAX)

afterAll(async () => {
  await emulator?.stop()
})

test('newman sends every request of the Postman collection, and no signature is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-newman-'))
  const report = join(folder, 'report.json')
  const { key, baseUrl } = emulator
  const order = await emulatedOrder()
  const variables = {
    ...{ base_url: baseUrl, key_id: key.id, secret: key.secret },
    ...{ item_id: ITEM, order_id: order, idempotency_key: 'newman-0001' },
  }
  const given = Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`])
  const args = ['run', COLLECTION, ...given, '--reporters', 'json', '--reporter-json-export', report]
  await promisify(execFile)(process.execPath, [newman, ...args])
  const { run } = JSON.parse(await readFile(report, 'utf8'))
  await rm(folder, { recursive: true })
  expect(run.failures).toEqual([])
  const answers = run.executions.map((one: Execution) => `${one.response?.code} ${one.item.name}`)
  expect(answers).toEqual([
    '200 Is the shop open?',
    '200 Try out a key and its signature',
    '200 Read the balance',
    '200 List items',
    '200 Read one item',
    '200 Price a cart',
    '201 ⚠ Buy a cart (spends real balance)',
    '200 List orders',
    '200 Read one order, with its gift links',
    '200 Read the state of deliveries',
    // Its URL is an example and not public.
    '400 Set or stop the endpoint',
    '200 Stop deliveries',
    '409 Queue a test event',
  ])
})

test('the collection is made for the address of an emulator', async () => {
  const { variable } = JSON.parse(await readFile(COLLECTION, 'utf8')) as { variable: Variable[] }
  const [address] = variable.filter(({ key }) => key === 'base_url')
  expect(address?.value).toBe('http://127.0.0.1:4010/v1')
})

interface Execution {
  readonly item: { readonly name: string }
  readonly response?: { readonly code: number }
}
interface Variable {
  readonly key: string
  readonly value: string
}

async function emulatedOrder(): Promise<string> {
  const { key, baseUrl } = emulator
  const shop = new Shopwire({ keyId: key.id, secret: key.secret, baseUrl })
  return (await shop.orders.create({ items: [{ id: ITEM }], idempotencyKey: 'newman-earlier' })).id
}

/** Its program, installed once and kept for the next run. */
async function installNewman(): Promise<string> {
  const folder = join(ROOT, '.data', NEWMAN)
  const program = join(folder, 'node_modules/newman/bin/newman.js')
  const isThere = await access(program).then(
    () => true,
    () => false,
  )
  if (isThere) return program
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const args = ['install', NEWMAN, '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
  await promisify(execFile)('npm', args, { cwd: folder, timeout: INSTALL_MS_MAX })
  return program
}
