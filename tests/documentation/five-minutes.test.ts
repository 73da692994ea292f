import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { codeBlocks, ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { canMakePublicNetwork, inPublicNetwork, until } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'

/**
 * What a visitor does first, in this clone: the commands at the top of README.md as they are printed there, then docs/start/five-minutes.md, which
 * must say what its commands print, ids and times aside, and fit into its name. SHOPWIRE_WRITE_DOCS=1 writes that page anew. Where Linux
 * allows it they run in a network of their own, in which the ports of the pages are free.
 */
const PAGE = join(ROOT, 'docs/start/five-minutes.md')
/** A second or two on a quiet machine; here two other test files run beside it. */
const READY_S_MAX = 60
const TOTAL_S_MAX = 300
const WAIT_MS_MAX = 60_000
/** What every emulator says when it starts. */
const EMULATOR = {
  baseUrl: 'http://127.0.0.1:4010/v1',
  key: {
    id: 'key_emulator_00000000000000000000000001',
    secret: 'sk_emulator-play-money-everyone-knows-this-one',
  },
}
const FOLDER_ON_PAGE = 'five-minutes'

type Step =
  | string
  /** A file that the reader makes. */
  | { readonly file: string; readonly text: string }
  /** Shown and not run: how the reader gets where the test is. */
  | { readonly setUp: string }
  /** A program that keeps running in a second terminal; its output so far is shown once it matches `until`. */
  | { readonly terminal: string; readonly $: string; readonly until: RegExp; readonly readyMax?: number }
  /** What that terminal has printed since, once there is enough of it. */
  | { readonly look: string; readonly until: RegExp }
  | { readonly $: string }

const STEPS: readonly Step[] = [
  `# Five minutes

From a clone to an order, its links and a verified webhook, with play money. You need Node 24; nothing else has to be
installed or running. The packages are not yet on npm, so everything starts in a folder of the clone, where Node finds
them.

## Start a store

The [emulator](../../emulator/README.md) is the real service in one process.`,
  { setUp: `npm ci\nmkdir -p .data/${FOLDER_ON_PAGE} && cd .data/${FOLDER_ON_PAGE}` },
  {
    terminal: 'emulator',
    $: 'npx shopwire-emulator --write-env .env --webhook http://localhost:3000/hooks',
    until: /Shopwire\(\{.*\n\n/,
    readyMax: READY_S_MAX,
  },
  `Leave it running, and open a second terminal in the same folder.

## Make a signed call`,
  { $: 'npx shopwire profile add emulator --emulator' },
  { $: 'npx shopwire ping' },
  `The [command line](../reference/command-line.md) made the signature. Your code will do it with the
[SDK](../../sdk/README.md), or [in any language](../guides/sign-a-request.md). A quote spends nothing:`,
  { $: 'npx shopwire quote --item 1144058340327047001:2' },
  `## Receive webhooks

This is a complete receiver; it verifies every signature.`,
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
createServer(receive).listen(3000, () => console.log('listening'))`,
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
  `It returns the same order and charges $9.98 only once. That is how a [retry](../guides/buy-exactly-once.md) works.

## Simulate a failure

Make the emulator execute the next order and drop the answer, one of its [faults](../../emulator/README.md#faults):`,
  {
    $: `curl -s http://127.0.0.1:4010/_emulator/faults -H 'content-type: application/json' -d '{"name":"lost_answer"}'`,
  },
  { $: 'node --env-file=.env buy.mjs my-second-order' },
  { $: 'npx shopwire orders prove my-second-order' },
  `The connection broke after the balance was debited. The SDK sent the same key again and got the existing order.

Ctrl-C in the first terminal stops the store and deletes its data.

## Next

[Concepts](concepts.md) defines the terms. [Buy exactly once](../guides/buy-exactly-once.md) and [receive
webhooks](../guides/receive-webhooks.md) are what your code has to get right, [examples](../../examples/README.md) show
it in full, and [\`golive\`](../guides/go-live.md) tests it.`,
]

let folder: string
let env: Record<string, string>
/** Makes bash run in the network of these tests. */
let inNetwork: readonly string[] = []
let network: ChildProcess | undefined

beforeAll(async () => {
  await mkdir(join(ROOT, '.data'), { recursive: true })
  folder = await mkdtemp(join(ROOT, '.data/five-minutes-'))
  // The emulator's empty database is kept there, as for its own tests.
  const XDG_CACHE_HOME = join(ROOT, '.data/caches')
  env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, '.config'),
    XDG_CACHE_HOME,
  }
  if (!canMakePublicNetwork()) return
  const [command, ...args] = inPublicNetwork('sh', '-c', 'echo ready; exec sleep infinity')
  network = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (network.stdout) await once(network.stdout, 'data')
  inNetwork = ['nsenter', `--net=/proc/${network.pid}/ns/net`]
})

afterAll(async () => {
  network?.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

test('the first commands in README.md buy once from a clone, as they are printed, and docs/README.md has the same', async () => {
  const [first] = await shellBlocksOf('README.md')
  expect((await shellBlocksOf('docs/README.md'))[0]).toBe(first)
  const [start = '', profile = '', order = '', ...more] = first?.split('\n') ?? []
  expect(more).toEqual([])
  // This clone is where that has been run: CI begins with it.
  expect(start).toMatch(/^npm ci && /)
  const emulator = openTerminal(start.replace('npm ci && ', ''), ROOT)
  try {
    await emulator.printed(/Shopwire\(\{.*\n\n/)
    expect(await run(profile, ROOT)).toContain('Profile emulator')
    expect(await answerYes(order)).toMatch(/Buy this\?[\s\S]*Bought for \$9\.98/)
    expect(await answerYes(order)).toMatch(/Buy this\?[\s\S]*Replayed.*Nothing was charged now/)
    expect(await run('npx shopwire balance', ROOT)).toBe('$240.02 USD\n')
    expect(await run(await readmeProgram(), ROOT)).toBe('false\n')
  } finally {
    await emulator.end()
  }
})

test('docs/start/five-minutes.md shows exactly what its commands print, within five minutes', {
  timeout: 2 * TOTAL_S_MAX * 1000,
}, async (context) => {
  const terminals = new Map<string, Terminal>()
  try {
    const startedMs = performance.now()
    const page = await play(terminals)
    const tookS = (performance.now() - startedMs) / 1000
    await context.annotate(`it took ${tookS.toFixed(1)} s`)
    expect(tookS).toBeLessThan(TOTAL_S_MAX)
    if (process.env.SHOPWIRE_WRITE_DOCS) await writeFile(PAGE, page)
    expect(withoutAccidents(await readFile(PAGE, 'utf8'))).toBe(withoutAccidents(page))
  } finally {
    for (const terminal of terminals.values()) await terminal.end()
  }
})

async function shellBlocksOf(path: string): Promise<string[]> {
  const blocks = codeBlocks({ path, text: await readFile(join(ROOT, path), 'utf8') })
  return blocks.filter(({ language }) => language === 'sh').map(({ code }) => code)
}

/** The program in README.md, as a command; it prints what its last line looks at. */
async function readmeProgram(): Promise<string> {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  const [program] = codeBlocks({ path: 'README.md', text }).filter(({ language }) => language === 'ts')
  const file = join(folder, 'readme.ts')
  await writeFile(file, (program?.code ?? '').replace(/^(order\.replayed) .*$/m, 'console.log($1)'))
  const { key, baseUrl } = EMULATOR
  return `SHOPWIRE_API_KEY=${key.id} SHOPWIRE_API_SECRET=${key.secret} SHOPWIRE_BASE_URL=${baseUrl} node ${file}`
}

/** In a terminal, in which the question can be answered. */
function answerYes(command: string): Promise<string> {
  return run(`echo y | script -qec '${command}' /dev/null`, ROOT)
}

function run(command: string, cwd: string): Promise<string> {
  const [file = '', ...args] = [...inNetwork, 'bash', '-c', `exec 2>&1; ${command}`]
  return promisify(execFile)(file, args, { cwd, env: { ...env, NO_COLOR: '1' }, timeout: WAIT_MS_MAX }).then(
    ({ stdout }) => stdout,
    ({ message, stdout }: { message: string; stdout: string }) => {
      throw new Error(`${message}\n${stdout}`)
    },
  )
}

async function play(terminals: Map<string, Terminal>): Promise<string> {
  const forPage = (text: string) =>
    text
      .replaceAll(join(ROOT, '.data', basename(folder)), '~')
      // Another one every time, and nothing that belongs on a page.
      .replace(/whsec_[\w-]{43}/g, 'whsec_…')
  const shown = (command: string, printed: string) =>
    `\`\`\`console\n$ ${command}\n${forPage(printed).trimEnd()}\n\`\`\`\n`

  const parts: string[] = []
  for (const step of STEPS) {
    if (typeof step === 'string') parts.push(`${step}\n`)
    else if ('setUp' in step) parts.push(`\`\`\`sh\n${step.setUp}\n\`\`\`\n`)
    else if ('file' in step) {
      await writeFile(join(folder, step.file), step.text)
      // Not `file=`: those are for the programs of the guides, which have a buy.mjs of their own.
      parts.push(`\`\`\`js run=five-minutes\n// ${step.file}\n${step.text}\n\`\`\`\n`)
    } else if ('terminal' in step) {
      const terminal = openTerminal(step.$, folder)
      terminals.set(step.terminal, terminal)
      const startedMs = performance.now()
      const printed = await terminal.printed(step.until)
      if (step.readyMax !== undefined)
        expect((performance.now() - startedMs) / 1000).toBeLessThan(step.readyMax)
      parts.push(shown(step.$, printed))
    } else if ('look' in step) {
      const printed = await terminals.get(step.look)?.printed(step.until)
      parts.push(`\`\`\`console\n${forPage(printed ?? '').trimEnd()}\n\`\`\`\n`)
    } else parts.push(shown(step.$, await run(step.$, folder)))
  }
  return parts.join('\n')
}

interface Terminal {
  /** What it has printed since the last look, once that has what is wanted. */
  printed(wanted: RegExp): Promise<string>
  end(): Promise<void>
}

function openTerminal(command: string, cwd: string): Terminal {
  // In a group of its own: Ctrl-C in a terminal reaches npx and what it runs alike.
  const [file = '', ...args] = [...inNetwork, 'bash', '-c', `exec 2>&1; ${command}`]
  const child: ChildProcess = spawn(file, args, { cwd, env, detached: true })
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
