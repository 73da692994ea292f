import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { allScenarios, type GoliveReport, runGolive } from '@shopwire/cli/golive'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type BrokenWay, brokenWays, type Way } from './support/broken-ways.ts'
import { startHandmadeShop } from './support/handmade-shop.ts'
import { readXml } from './support/xml.ts'

const ROOT = new URL('..', import.meta.url)
const SECRET = 'whsec_golive-current'
const PREVIOUS = 'whsec_golive-previous'
const RUN_MS_MAX = 90_000
/** Most of a run is waiting, so many go on at once. */
const RUNS_AT_ONCE = 8
const isLong = process.env.SHOPWIRE_LONG === '1'

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({ ordersPerMinute: 10_000, requestsPerMinute: 100_000 })
}, 120_000)

afterAll(async () => {
  await emulator?.stop()
})

describe('a good integration passes everything', { timeout: RUN_MS_MAX + 30_000 }, () => {
  test('the shop in examples/, driven by the command, in words, JSON and JUnit', async () => {
    const shop = await startExample()
    const folder = await mkdtemp(join(tmpdir(), 'shopwire-golive-'))
    onTestFinished(async () => {
      await stop(shop.process)
      await rm(folder, { recursive: true })
    })
    const file = join(folder, 'golive.xml')
    const { code, stdout } = await golive(['--json', '--junit', file, ...argumentsFor(shop.urls)])
    const report = JSON.parse(stdout) as GoliveReport
    expect(failuresOf(report)).toEqual([])
    expect(report).toMatchObject({ ok: true, failed: 0, not_run: 0, passed: allScenarios().length + 1 })
    expect(report.duration_ms).toBeLessThan(RUN_MS_MAX)
    expect(code).toBe(0)

    const xml = readXml(await readFile(file, 'utf8'))
    const cases = xml.filter(({ name }) => name === 'testcase')
    expect(cases.map(({ attributes }) => attributes.name)).toEqual(report.results.map(({ title }) => title))
    const [suite] = xml.filter(({ name }) => name === 'testsuite')
    expect(suite?.attributes).toMatchObject({
      tests: String(report.results.length),
      failures: '0',
      skipped: '0',
    })
  })

  test('one that was written without the SDK', async () => {
    const report = await drive(undefined)
    expect(failuresOf(report)).toEqual([])
    expect(report).toMatchObject({ ok: true, not_run: 0 })
  })
})

describe('each way to get it wrong is found, and nothing else is blamed', () => {
  const ways = Object.entries(brokenWays) as [Way, BrokenWay][]
  const alone = ways.filter(([, { isAlone }]) => isAlone)
  const together = ways.filter(([, { isAlone }]) => !isAlone)

  describe('side by side', { concurrent: true, timeout: 180_000 }, () => {
    const turns = takeTurns(RUNS_AT_ONCE)
    for (const [way, expected] of together) {
      test(`${way}: ${expected.fails}`, () => turns(() => expectCaught(way, expected)))
    }
  })

  describe('one after the other, for they change what all see', () => {
    for (const [way, expected] of alone) {
      test(`${way}: ${expected.fails}`, () => expectCaught(way, expected))
    }
  })

  test('every scenario but the first catches something', () => {
    const caught = new Set<string>(ways.flatMap(([, { fails, also = [] }]) => [fails, ...also]))
    expect(
      allScenarios()
        .map(({ id }) => id)
        .filter((id) => !caught.has(id)),
    ).toEqual([])
  })
})

describe('the command says what is in its way', () => {
  test('no emulator: 7', async () => {
    const { code, stderr } = await golive([
      '--buy',
      'http://127.0.0.1:9/buy',
      '--emulator',
      'http://127.0.0.1:9',
    ])
    expect(code).toBe(7)
    expect(stderr).toContain('npx @shopwire/emulator')
  })

  test('code that is not there, or buys elsewhere: 1, and only that', async () => {
    const { code, stdout } = await golive([
      '--json',
      '--emulator',
      emulator.url,
      '--buy',
      'http://127.0.0.1:9/buy',
    ])
    expect(code).toBe(1)
    const report = JSON.parse(stdout) as GoliveReport
    expect(failuresOf(report).map(([id]) => id)).toEqual(['connected'])
    expect(report.not_run).toBe(report.results.length - 1)
  })

  test('a wrong call: 2', async () => {
    for (const wrong of [[], ['--buy', 'shop'], ['--buy', 'http://127.0.0.1:9/', '--only', 'nothing']]) {
      expect(await golive([...wrong, '--emulator', emulator.url])).toMatchObject({ code: 2 })
    }
  })

  test('--list names them all', async () => {
    const { stdout } = await golive(['--list'])
    expect(stdout.trim().split('\n')).toHaveLength(allScenarios().length)
  })

  test('what is not offered is not run, and what fails says what to mend', async () => {
    const account = await emulator.createAccount()
    const shop = await startHandmadeShop({
      baseUrl: emulator.baseUrl,
      key: account.key,
      secrets: [SECRET],
      way: 'key-from-cart',
    })
    onTestFinished(() => shop.stop())
    const only = ['--only', 'same-cart,delivered', '--account', account.accountId]
    const { code, stdout } = await golive(['--emulator', emulator.url, '--buy', shop.urls.buy, ...only])
    expect(code).toBe(1)
    expect(stdout).toContain('✗ same-cart: Two purchases with the same cart are two orders')
    expect(stdout).toContain('what to fix     Make the key of your id of the purchase')
    expect(stdout).toContain('read            docs/guides/buy-exactly-once.md#do-not')
    expect(stdout).toMatch(/delivered +It needs --webhook URL and --state URL\./)
  })
})

async function expectCaught(way: Way, { fails, also = [], beside = [] }: BrokenWay): Promise<void> {
  const report = await drive(
    way,
    isLong ? undefined : [...new Set(['plain', fails, ...also, ...beside, 'books'])],
  )
  const failures = failuresOf(report).map(([id]) => id)
  expect(failures).toContain(fails)
  expect(failures.filter((id) => id !== fails && !also.includes(id))).toEqual([])
}

/** An account of its own keeps the faults of one run from striking another. */
async function drive(way: Way | undefined, only?: readonly string[]): Promise<GoliveReport> {
  const account = await emulator.createAccount()
  const { baseUrl, url } = emulator
  const shop = await startHandmadeShop({ baseUrl, key: account.key, secrets: [SECRET, PREVIOUS], way })
  try {
    return await runGolive({
      emulator: url,
      urls: shop.urls,
      secret: SECRET,
      previousSecret: PREVIOUS,
      account: account.accountId,
      only,
      patienceMs: 8_000,
    })
  } finally {
    await shop.stop()
  }
}

function failuresOf({ results }: GoliveReport): [string, string | null][] {
  return results.filter(({ verdict }) => verdict === 'failed').map(({ id, reason }) => [id, reason])
}

function takeTurns(atOnce: number) {
  let free = atOnce
  const waiting: (() => void)[] = []
  return async <Result>(act: () => Promise<Result>): Promise<Result> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      return await act()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

function golive(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = fileURLToPath(new URL('cli/bin/shopwire.ts', ROOT))
  const env = {
    PATH: process.env.PATH,
    SHOPWIRE_WEBHOOK_SECRET: SECRET,
    SHOPWIRE_WEBHOOK_SECRET_PREVIOUS: PREVIOUS,
  }
  return promisify(execFile)(process.execPath, [program, 'golive', ...args], {
    env,
    timeout: RUN_MS_MAX + 20_000,
  }).then(
    (streams) => ({ code: 0, ...streams }),
    (ended: { code: number; stdout: string; stderr: string }) => ended,
  )
}

function argumentsFor({
  buy,
  webhook,
  state,
  reconcile,
}: Record<'buy' | 'webhook' | 'state' | 'reconcile', string>) {
  const urls = ['--buy', buy, '--webhook', webhook, '--state', state, '--reconcile', reconcile]
  return ['--emulator', emulator.url, ...urls]
}

async function startExample() {
  const program = fileURLToPath(new URL('examples/shop/shop.ts', ROOT))
  const shop = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      SHOPWIRE_BASE_URL: emulator.baseUrl,
      SHOPWIRE_API_KEY: emulator.key.id,
      SHOPWIRE_API_SECRET: emulator.key.secret,
      SHOPWIRE_WEBHOOK_SECRET: SECRET,
      SHOPWIRE_WEBHOOK_SECRET_PREVIOUS: PREVIOUS,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const chunk of shop.stdout) {
    printed += chunk
    const [, url] = /(http:\S+)\n/.exec(printed) ?? []
    if (!url) continue
    return {
      process: shop,
      urls: {
        buy: `${url}/buy`,
        webhook: `${url}/hooks`,
        state: `${url}/purchases/{purchase}`,
        reconcile: `${url}/reconcile`,
      },
    }
  }
  throw new Error(`the shop ended early: ${printed}`)
}

async function stop(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  process.kill()
  await once(process, 'close')
}
