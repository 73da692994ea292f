import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { allScenarios, type GoliveReport } from '@shopwire/cli/golive'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { codeBlocks, readPages } from '@shopwire/test-kit/pages/code-blocks'
import { SaxesParser } from 'saxes'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'
import { EXAMPLES, startProgram } from './example.ts'
import { failuresOf, PREVIOUS_SECRET, RUN_MS_MAX, SECRET } from './golive.ts'
import { startHandmadeIntegration } from './handmade-integration.ts'

const ROOT = new URL('../..', import.meta.url)
const PAGE_INTEGRATION = fileURLToPath(new URL('./page-integration.ts', import.meta.url))
const START_MS_MAX = 120_000
const SECRETS = { SHOPWIRE_WEBHOOK_SECRET: SECRET, SHOPWIRE_WEBHOOK_SECRET_PREVIOUS: PREVIOUS_SECRET }

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({ ordersPerMinute: 1_000, requestsPerMinute: 10_000 })
}, START_MS_MAX)

afterAll(async () => {
  await emulator?.stop()
})

test('the shop in examples/ passes every scenario, with JSON and JUnit reports', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-golive-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const urls = await startShop(folder, `${EXAMPLES}shop/shop.ts`)
  const file = join(folder, 'golive.xml')
  const { code, stdout } = await golive(['--json', '--junit', file, ...argumentsFor(urls)])
  const report = JSON.parse(stdout) as GoliveReport
  expect(failuresOf(report)).toEqual([])
  expect(report).toMatchObject({ ok: true, failed: 0, not_run: 0, passed: allScenarios().length + 1 })
  expect(report.duration_ms).toBeLessThan(RUN_MS_MAX)
  expect(code).toBe(0)

  const elements = await elementsOf(file)
  const cases = elements.filter(({ name }) => name === 'testcase')
  expect(cases.map(({ attributes }) => attributes.name)).toEqual(report.results.map(({ title }) => title))
  const suite = elements.find(({ name }) => name === 'testsuite')
  const counts = { tests: String(report.results.length), failures: '0', skipped: '0' }
  expect(suite?.attributes).toMatchObject(counts)
})

// The loop on the page waits for half a minute before it asks a closed store again.
test.runIf(process.env.SHOPWIRE_LONG)('the code on the docs pages passes every scenario', () =>
  passesByPages(),
)

test.skipIf(IS_SHORT)('the buyer on the page looks at /status after a 503, and survives an empty 502', () =>
  passesByPages('unavailable', 'overloaded', 'bad-gateway'),
)

async function passesByPages(...only: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-golive-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const blocks = (await readPages()).flatMap(codeBlocks)
  for (const { marks, code } of blocks) if (marks.file) await writeFile(join(folder, marks.file), code)
  const urls = await startShop(folder, PAGE_INTEGRATION, folder)
  const chosen = only.length > 0 ? ['--only', only.join()] : []
  const { stdout } = await golive(['--json', ...chosen, ...argumentsFor(urls)])
  const report = JSON.parse(stdout) as GoliveReport
  expect(failuresOf(report)).toEqual([])
  expect(report).toMatchObject({ ok: true, not_run: 0 })
}

test.skipIf(IS_SHORT)(
  'skips what the shop does not offer, says how to fix what fails, and JUnit lists both',
  async () => {
    const { accountId, key } = await emulator.createAccount()
    const { baseUrl } = emulator
    const shop = await startHandmadeIntegration({ baseUrl, key, secrets: [SECRET], way: 'key-from-cart' })
    const folder = await mkdtemp(join(tmpdir(), 'shopwire-golive-'))
    onTestFinished(async () => {
      await shop.stop()
      await rm(folder, { recursive: true })
    })
    const file = join(folder, 'golive.xml')
    const only = ['--only', 'same-cart,delivered', '--account', accountId, '--junit', file]
    const { code, stdout } = await golive(['--emulator', emulator.url, '--buy', shop.urls.buy, ...only])
    expect(code).toBe(1)
    expect(stdout).toMatch(/✓ 1\/3 {2}Your code buys at the emulator {2}\d\.\d s\n/)
    expect(stdout).toContain('✗ same-cart: Two purchases with the same cart are two orders')
    expect(stdout).toContain(
      'what happened   Two purchases became one order; your code answered 200 and 200.',
    )
    expect(stdout).toContain('what to fix     Derive the idempotency key from your purchase id')
    const page = `${emulator.url}/docs/guides/buy-exactly-once.md`
    expect(stdout).toContain(`read            ${page}#do-not`)
    expect(await (await fetch(page)).text()).toContain('# Buy exactly once')
    expect(stdout).toMatch(/delivered +It needs --webhook URL and --state URL\./)
    expect(stdout).toMatch(/1 passed, 1 failed, 1 not run in \d+\.\d s/)
    const names = (await elementsOf(file)).map(({ name }) => name)
    expect(names.slice(2)).toEqual(['testcase', 'testcase', 'failure', 'testcase', 'skipped'])
  },
)

/** Those of an XML file, outer ones first. Fails unless it is well-formed. */
async function elementsOf(file: string) {
  const elements: { name: string; attributes: Record<string, string> }[] = []
  const parser = new SaxesParser()
  parser.on('opentag', (element) => elements.push(element))
  parser.on('error', (error) => {
    throw error
  })
  parser.write(await readFile(file, 'utf8')).close()
  return elements
}

test('exits with 7 without an emulator', async () => {
  const { code, stderr } = await golive([
    '--buy',
    'http://127.0.0.1:9/buy',
    '--emulator',
    'http://127.0.0.1:9',
  ])
  expect(code).toBe(7)
  expect(stderr).toContain('npx @shopwire/emulator')
})

test('exits with 1 when the shop does not answer, and tries nothing else', async () => {
  const args = ['--json', '--emulator', emulator.url, '--buy', 'http://127.0.0.1:9/buy']
  const { code, stdout } = await golive(args)
  expect(code).toBe(1)
  const report = JSON.parse(stdout) as GoliveReport
  expect(failuresOf(report).map(([id]) => id)).toEqual(['connected'])
  expect(report.not_run).toBe(report.results.length - 1)
})

test.skipIf(IS_SHORT)(
  'names the setting to fix when the shop buys elsewhere or with a wrong secret',
  async () => {
    const { accountId, key } = await emulator.createAccount()
    const { baseUrl } = emulator
    // One after the other: golive looks at what everybody sent to find out what is wrong.
    for (const [settings, said] of [
      [{ baseUrl: 'http://127.0.0.1:9/v1', key }, 'no order arrived at the emulator'],
      [{ baseUrl, key: { ...key, secret: `${key.secret}x` } }, 'Your request was refused'],
      [{ baseUrl, key: emulator.key }, 'which is not one of this account'],
    ] as const) {
      const shop = await startHandmadeIntegration({ ...settings, secrets: [SECRET] })
      const args = ['--emulator', emulator.url, '--account', accountId, '--only', 'plain', '--patience', '3']
      const { code, stdout } = await golive(['--buy', shop.urls.buy, ...args])
      await shop.stop()
      expect(stdout).toContain(said)
      expect(stdout).toContain(`SHOPWIRE_BASE_URL=${baseUrl}`)
      expect(code).toBe(1)
    }
  },
)

test('exits with 2 for an invalid command line', async () => {
  const buy = ['--buy', 'http://127.0.0.1:9/']
  const wrong = [[], ['--buy', 'shop'], [...buy, '--only', 'nothing'], [...buy, '--state', 'http://a/b']]
  const ended = await Promise.all(wrong.map((args) => golive([...args, '--emulator', emulator.url])))
  expect(ended.map(({ code }) => code)).toEqual(wrong.map(() => 2))
})

test('--list names every scenario', async () => {
  const { stdout } = await golive(['--list'])
  expect(stdout.trim().split('\n')).toHaveLength(allScenarios().length)
})

function golive(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = fileURLToPath(new URL('cli/bin/shopwire.ts', ROOT))
  const env = { PATH: process.env.PATH, ...SECRETS }
  const timeout = RUN_MS_MAX + 20_000
  return promisify(execFile)(process.execPath, [program, 'golive', ...args], { env, timeout }).then(
    (streams) => ({ code: 0, ...streams }),
    (ended: { code: number; stdout: string; stderr: string }) => ended,
  )
}

function argumentsFor({ buy, webhook, state, reconcile }: Record<string, string>): string[] {
  const urls = { '--buy': buy, '--webhook': webhook, '--state': state, '--reconcile': reconcile }
  return ['--emulator', emulator.url, ...Object.entries(urls).flatMap(([name, url]) => [name, url ?? ''])]
}

/** A shop as its reader starts it; ends with the test. */
async function startShop(cwd: string, ...program: string[]) {
  const env = {
    PORT: '0',
    SHOPWIRE_BASE_URL: emulator.baseUrl,
    SHOPWIRE_API_KEY: emulator.key.id,
    SHOPWIRE_API_SECRET: emulator.key.secret,
    ...SECRETS,
  }
  const shop = startProgram(program, { env, cwd })
  await expect.poll(shop.printed).toMatch(/http:\S+\s/)
  const [url] = /http:\S+/.exec(shop.printed()) ?? []
  return {
    buy: `${url}/buy`,
    webhook: `${url}/hooks`,
    state: `${url}/purchases/{purchase}`,
    reconcile: `${url}/reconcile`,
  }
}
