import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, until } from '@shopwire/engines'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPackage, installInto, packInto, run } from '../packaging/pack.ts'
import { codeBlocks, readPages } from './support/code-blocks.ts'

/**
 * docs/start/five-minutes.md is what somebody sees who has an empty folder and our three packages. Here the packages are built, packed
 * and installed there, and the same commands are run: the page must say what they print, ids and times aside, and the whole must fit
 * into its name. SHOPWIRE_WRITE_DOCS=1 writes the page anew.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGE = join(ROOT, 'docs/start/five-minutes.md')
const PACKAGES = ['sdk', 'cli', 'emulator'] as const
/** A second or two on a quiet machine; here two other test files run beside it. */
const READY_S_MAX = 30
const TOTAL_S_MAX = 300
const WAIT_MS_MAX = 60_000
/** What the page says; the test takes others that are free. */
const PORTS = { emulator: '4010', receiver: '3000' }

type Step =
  | string
  /** A file that the reader makes. */
  | { readonly file: string; readonly text: string }
  /** Shown and not run: the test has done it with packages of its own. */
  | { readonly setUp: string }
  /** A program that keeps running in a second terminal; its output so far is shown once it matches `until`. */
  | { readonly terminal: string; readonly $: string; readonly until: RegExp; readonly readyMax?: number }
  /** What that terminal has printed since, once there is enough of it. */
  | { readonly look: string; readonly until: RegExp }
  | { readonly $: string }

const STEPS: readonly Step[] = [
  `# Five minutes

From an empty folder to an order, its links and a verified webhook, on your own machine. Nothing here is real money. You need
Node 22.19 or newer; nothing else has to be installed or running.

A test runs everything below and compares what is printed.

## Start a store

The [emulator](../../emulator/README.md) is the real service in one process: the same rules, a database of its own, and an account with
$250.00 of play money.`,
  {
    terminal: 'emulator',
    $: 'npx @shopwire/emulator --write-env .env --webhook http://localhost:{receiver}/hooks --port {emulator}',
    until: /Shopwire\(\{.*\n\n/,
    readyMax: READY_S_MAX,
  },
  `Leave it running. Its page shows every request, order and event as they happen. Open a second terminal in the same folder.

## Make a signed call`,
  { setUp: 'npm install @shopwire/sdk @shopwire/cli' },
  { $: 'npx shopwire profile add emulator --emulator http://127.0.0.1:{emulator}' },
  { $: 'npx shopwire ping' },
  `That was your first signed call: the [command line](../reference/command-line.md) made the signature. Your code will do it with the
[SDK](../../sdk/README.md), or [in any language](../guides/sign-a-request.md). A quote spends nothing:`,
  { $: 'npx shopwire quote --item 1144058340327047001:2' },
  `## Receive webhooks

The store sends an event when an order is delivered. This is a complete receiver; it verifies every signature.`,
  {
    file: 'receive.mjs',
    text: `import { createServer } from 'node:http'
import { webhook } from '@shopwire/sdk/express' // fits Node's own server as well

const receive = webhook({
  secrets: [process.env.SHOPWIRE_WEBHOOK_SECRET],
  onEvent({ event, data }) {
    if (data.order) console.log('verified:', event, data.order.id, \`\${data.order.links.length} links\`)
    else console.log('verified:', event)
  },
})
createServer(receive).listen({receiver}, () => console.log('listening'))`,
  },
  { terminal: 'receiver', $: 'node --env-file=.env receive.mjs', until: /listening/ },
  `## Buy

In a third terminal. The idempotency key is yours: one for each purchase, stored before the first attempt.`,
  {
    file: 'buy.mjs',
    text: `import { Shopwire } from '@shopwire/sdk'

const shop = new Shopwire() // reads SHOPWIRE_API_KEY, SHOPWIRE_API_SECRET and SHOPWIRE_BASE_URL
const order = await shop.orders.create({
  items: [{ id: '1144058340327047001', qty: 2, expected_price_cents: 499 }],
  idempotencyKey: process.argv[2],
})
console.log(order.id, order.status, order.total_cents, order.replayed ? 'bought before' : 'bought now')`,
  },
  { $: 'node --env-file=.env buy.mjs my-first-order' },
  'The receiver prints:',
  { look: 'receiver', until: /(verified.*\n){2}/ },
  'Send the same purchase again, as you would after a lost answer:',
  { $: 'node --env-file=.env buy.mjs my-first-order' },
  { $: 'npx shopwire balance' },
  `It returns the same order and charges $9.98 only once: the key had bought before. That is how a [retry](../guides/buy-exactly-once.md) works.

## Simulate a failure

The emulator has a switch for each failure. Make it execute the next order and drop the answer:`,
  {
    $: `curl -s http://127.0.0.1:{emulator}/_emulator/faults -H 'content-type: application/json' -d '{"name":"lost_answer"}'`,
  },
  { $: 'node --env-file=.env buy.mjs my-second-order' },
  { $: 'npx shopwire orders prove my-second-order' },
  `The connection broke after the balance was debited. The SDK sent the same key again and got the existing order: two attempts,
one debit. The emulator has [more faults](../../emulator/README.md#faults).

Ctrl-C in the first terminal stops the store and deletes its data.

## Next

[Concepts](concepts.md) defines the terms. [Buy exactly once](../guides/buy-exactly-once.md) and [receive
webhooks](../guides/receive-webhooks.md) are what your code has to get right, [examples](../../examples/README.md) show it in full, and
\`shopwire golive\` [tests it](../guides/go-live.md) before real money is spent.`,
]

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-five-minutes-'))
  const tarballs = await Promise.all(
    PACKAGES.map(async (name) => {
      await buildPackage(name)
      return packInto(folder, name)
    }),
  )
  await installInto(folder, tarballs, '--prefer-offline')
}, 2 * WAIT_MS_MAX)

afterAll(() => rm(folder, { recursive: true, force: true }))

test('docs/start/five-minutes.md shows exactly what its commands print, within five minutes', {
  timeout: 2 * TOTAL_S_MAX * 1000,
}, async (context) => {
  const ports = { emulator: String(await freePort()), receiver: String(await freePort()) }
  const terminals = new Map<string, Terminal>()
  try {
    const startedMs = performance.now()
    const page = await play(folder, ports, terminals)
    const tookS = (performance.now() - startedMs) / 1000
    await context.annotate(`after the installation it took ${tookS.toFixed(1)} s`)
    expect(tookS).toBeLessThan(TOTAL_S_MAX)
    if (process.env.SHOPWIRE_WRITE_DOCS) await writeFile(PAGE, page)
    expect(withoutAccidents(await readFile(PAGE, 'utf8'))).toBe(withoutAccidents(page))
  } finally {
    for (const terminal of terminals.values()) await terminal.end()
  }
})

test('programs in the docs that need our packages run with the packed packages', async () => {
  const blocks = (await readPages()).flatMap(codeBlocks).filter(({ marks }) => marks.run === 'packages')
  expect(blocks.length).toBeGreaterThan(0)
  for (const { code, line } of blocks) {
    const file = join(folder, `program-${line}.test.mjs`)
    await writeFile(file, code)
    await run(process.execPath, ['--test', file], folder)
  }
})

async function play(folder: string, ports: typeof PORTS, terminals: Map<string, Terminal>): Promise<string> {
  const forTest = (text: string) =>
    text.replace(/\{(emulator|receiver)\}/g, (_, name) => ports[name as keyof typeof ports])
  const forPage = (text: string) =>
    text
      .replaceAll(ports.emulator, PORTS.emulator)
      .replaceAll(ports.receiver, PORTS.receiver)
      .replaceAll(folder, '~')
      // Another one every time, and nothing that belongs on a page.
      .replace(/whsec_[\w-]{43}/g, 'whsec_…')
      // What is the default need not be said.
      .replace(` --port ${PORTS.emulator}`, '')
      .replace(` --emulator http://127.0.0.1:${PORTS.emulator}`, ' --emulator')
  const env = { PATH: process.env.PATH ?? '', HOME: folder, XDG_CONFIG_HOME: join(folder, '.config') }
  const shown = (command: string, printed: string) =>
    `\`\`\`console\n$ ${command}\n${printed.trimEnd()}\n\`\`\`\n`

  const parts: string[] = []
  for (const step of STEPS) {
    if (typeof step === 'string') parts.push(`${step}\n`)
    else if ('setUp' in step) parts.push(`\`\`\`sh\n${step.setUp}\n\`\`\`\n`)
    else if ('file' in step) {
      await writeFile(join(folder, step.file), forTest(step.text))
      const text = forPage(forTest(step.text))
      // Not `file=`: those are for the programs of the guides, which have a buy.mjs of their own.
      parts.push(`\`\`\`js run=five-minutes\n// ${step.file}\n${text}\n\`\`\`\n`)
    } else if ('terminal' in step) {
      const terminal = openTerminal(forTest(step.$), folder, env)
      terminals.set(step.terminal, terminal)
      const startedMs = performance.now()
      const printed = await terminal.printed(step.until)
      if (step.readyMax !== undefined)
        expect((performance.now() - startedMs) / 1000).toBeLessThan(step.readyMax)
      parts.push(
        shown(
          step.$.replace(/.*/, (command) => forPage(forTest(command))),
          forPage(printed),
        ),
      )
    } else if ('look' in step) {
      const printed = await terminals.get(step.look)?.printed(step.until)
      parts.push(`\`\`\`console\n${forPage(printed ?? '').trimEnd()}\n\`\`\`\n`)
    } else {
      const printed = await run('bash', ['-c', `exec 2>&1; ${forTest(step.$)}`], folder, env)
      parts.push(shown(forPage(forTest(step.$)), forPage(printed)))
    }
  }
  return parts.join('\n')
}

interface Terminal {
  /** What it has printed since the last look, once that has what is wanted. */
  printed(wanted: RegExp): Promise<string>
  end(): Promise<void>
}

function openTerminal(command: string, cwd: string, env: Record<string, string>): Terminal {
  // In a group of its own: Ctrl-C in a terminal reaches npx and what it runs alike.
  const child: ChildProcess = spawn('bash', ['-c', `exec 2>&1; ${command}`], { cwd, env, detached: true })
  let text = ''
  let seen = 0
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk
  })
  return {
    async printed(wanted) {
      const isThere = () => {
        if (child.exitCode !== null) throw new Error(`"${command}" has ended:\n${text}`)
        return wanted.test(text.slice(seen))
      }
      await until(isThere, WAIT_MS_MAX, () => `"${command}" has printed only:\n${text}`)
      const fresh = text.slice(seen)
      seen = text.length
      return fresh
    },
    async end() {
      if (child.exitCode !== null || child.pid === undefined) return
      const closed = once(child, 'close')
      process.kill(-child.pid, 'SIGINT')
      await closed
    },
  }
}

/** Ids become the order of their first appearance; times, hashes and counts that depend on them are blotted out. */
function withoutAccidents(page: string): string {
  const ids: string[] = []
  return (
    page
      .replace(/\b([a-z]+)_[0-9a-z]{26}\b/g, (id, prefix: string) => {
        if (!ids.includes(id)) ids.push(id)
        return `${prefix}#${ids.indexOf(id)}`
      })
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?/g, 'TIME')
      .replace(/\b\d+(\.\d+)? m?s\b/g, 'DURATION')
      .replace(/\b\d+ requests left/g, 'N requests left')
      // Delivery is quick, but what it precedes is not guaranteed.
      .replace(/ (paid|delivered) 998 /g, ' STATUS 998 ')
      .replace(/^(verified: order\.delivered.*)\n(verified: order\.accepted.*)$/m, '$2\n$1')
      .replace(/ +/g, ' ')
  )
}
