import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkInvariants } from '@shopwire/test-kit/invariants'
import { descendantsOf, isAlive, PROCESSES } from '@shopwire/test-kit/servers'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'

const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
/** The first start makes months of history. */
const FIRST_READY_MS_MAX = 120_000
const READY_MS_MAX = 60_000
/** In order, and by force where that hangs. */
const GONE_MS_MAX = 30_000
const TEST_MS_MAX = 400_000

test('npm run dev is ready within two minutes with a demo that obeys every invariant; its command buys, its pages sign in and show mail and verified events; the next start reuses all of it', {
  timeout: TEST_MS_MAX,
}, async () => {
  const data = await dataFolder()
  const startedMs = performance.now()
  const first = await startDev(data)
  expect(performance.now() - startedMs).toBeLessThan(FIRST_READY_MS_MAX)
  const owner = /^SHOPWIRE_DATABASE_OWNER_URL=(.+)$/m.exec(
    await readFile(join(data, 'store.env'), 'utf8'),
  )?.[1]
  expect(await checkInvariants(owner ?? '')).toEqual([])

  const pasted = /^key=[\s\S]*?^$/m.exec(first.printed)?.[0] ?? ''
  const { stdout } = await promisify(execFile)('bash', ['-c', pasted])
  expect(stdout.match(/^HTTP\/1\.1 .*$/gm)?.map((line) => line.trim())).toEqual([
    'HTTP/1.1 200 OK',
    'HTTP/1.1 201 Created',
    'HTTP/1.1 200 OK',
  ])
  expect(stdout).toContain('"name":"Aurora Ring"')
  expect(stdout).toContain('idempotent-replayed: true')
  expect(stdout).toMatch(/"links":\["https:\/\/gift\.example\//)
  await lookAround(first.pages, /ord_[0-9a-z]{26}/.exec(stdout)?.[0] ?? '')
  const foreign = await fetch(`${first.pages}/sign-in`, {
    method: 'POST',
    headers: { origin: 'http://localhost:1' },
    body: 'email=owner@shopwire.localhost',
  })
  expect([foreign.status, foreign.headers.get('set-cookie')]).toEqual([403, null])
  await interrupt(first, data)

  const againMs = performance.now()
  const second = await startDev(data)
  expect(performance.now() - againMs).toBeLessThan(READY_MS_MAX)
  expect(keyIn(second.printed)).toBe(keyIn(first.printed))
  await interrupt(second, data)
})

/** As a newcomer: signs in with one click, sees the order that was just bought, and looks into both inboxes. */
async function lookAround(pages: string, order_id: string) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(pages)
  await page
    .getByRole('row', { name: /Maya Lindqvist/ })
    .getByRole('button', { name: 'Sign in' })
    .click()
  await page.getByText('Lantern Games').first().waitFor()
  await page.getByText(order_id.slice(-6)).first().waitFor()
  await page.goto(`${pages}/mail`)
  const invitation = page.getByTitle('Invitation to Lantern Games on Shopwire').first()
  await invitation.scrollIntoViewIfNeeded()
  const inMail = invitation.contentFrame()
  await inMail.getByRole('heading', { name: 'to the account "Lantern Games"' }).waitFor()
  expect(await inMail.getByRole('link').getAttribute('href')).toContain('/invitation#')
  await page.goto(`${pages}/webhooks`)
  const bought = page.getByRole('article').filter({ hasText: order_id })
  await expect.poll(() => bought.getByText('verified').count()).toBe(2)
  expect(await page.content()).not.toContain('gift.example')
  await browser.close()
}

const keyIn = (printed: string) => /^key=.*$/m.exec(printed)?.[0]

/** Ctrl-C, to the whole group. */
async function interrupt({ dev, ports }: Awaited<ReturnType<typeof startDev>>, data: string) {
  process.kill(-(dev.pid as number), 'SIGINT')
  await once(dev, 'close')
  for (const port of ports) expect(await isListening(port)).toBe(false)
  expect(processesNaming(data)).toEqual([])
}

test('npm run dev -- --empty starts a store without accounts, and says how to make one', async () => {
  const data = await dataFolder()
  const empty = await startDev(data, '--empty')
  const line = /^node .* accounts create .*$/m.exec(empty.printed)?.[0] ?? ''
  const cwd = new URL('../..', import.meta.url)
  const made = await promisify(execFile)('bash', ['-c', line], { cwd })
  expect(made.stdout).toMatch(/acct_[0-9a-z]{26}/)
  expect(await (await fetch(empty.pages)).text()).toContain('This store is empty.')
  await interrupt(empty, data)
})

test('npm run dev leaves no process when npm is ended by a signal or its child is killed', {
  timeout: TEST_MS_MAX,
}, async () => {
  const data = await dataFolder()
  // As a supervisor, a closed terminal or a person with another terminal would: one process is meant, the others have to notice.
  const endings = [
    ['npm', 'SIGTERM'],
    ['npm', 'SIGKILL'],
    ['dev.ts', 'SIGKILL'],
    ['npm', 'SIGINT'],
    ['npm', 'SIGHUP'],
  ] as const
  for (const [who, signal] of endings) {
    const { dev, printed, ports } = await startDev(data, '--empty')
    const npm = dev.pid as number
    const family = [npm, ...descendantsOf(npm)]
    onTestFinished(() => killRest(family, family.map(commandOf)))
    // npm, perhaps a shell, dev.ts, three watchers with a server each, the database and its own processes, and what ends them.
    expect(family.length, printed).toBeGreaterThan(10)
    process.kill(who === 'npm' ? npm : pidOf(family, 'tools/dev.ts'), signal)
    await expect
      .poll(() => family.filter(isAlive).map(commandOf), {
        timeout: GONE_MS_MAX,
        message: `${signal} to ${who}`,
      })
      .toEqual([])
    for (const port of ports) expect(await isListening(port), `${signal} to ${who}: port ${port}`).toBe(false)
    expect(processesNaming(data)).toEqual([])
  }
})

async function dataFolder(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'shopwire-dev-'))
  // A server that may not run as root runs as another user, who must be able to get in.
  await chmod(data, 0o755)
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  return data
}

/** As in a terminal: in a group of its own, to which Ctrl-C goes. */
async function startDev(data: string, ...options: string[]) {
  const dev = spawn('npm', ['run', 'dev', '--', '--data', data, ...options], {
    cwd: new URL('../..', import.meta.url),
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    // Whatever the test found: nothing it started is left running.
    if (dev.exitCode === null && dev.signalCode === null) {
      process.kill(-(dev.pid as number), 'SIGINT')
      await once(dev, 'close')
    }
  })
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    dev.once('close', () => reject(new Error(`ended early:\n${printed}`)))
    dev.stdout.on('data', (chunk: Buffer) => {
      printed += chunk
      if (printed.includes('starts over')) resolve()
    })
  })
  const ports = [
    ...printed.matchAll(
      /(?:Dashboard|API|Health|Mail) +http:\/\/[a-z0-9.]+:(\d+)|PostgreSQL: .*port (\d+)|(?:worker|dashboard): port (\d+)/g,
    ),
  ].map(([, ...found]) => Number(found.find(Boolean)))
  expect(ports).toHaveLength(7)
  const pages = /^ +Mail +(http:\/\/localhost:\d+)\/mail$/m.exec(printed)?.[1] ?? ''
  return { dev, printed, ports, pages }
}

/** Whatever the test found. A pid may be somebody else's by now. */
function killRest(pids: readonly number[], commands: readonly string[]) {
  for (const [n, pid] of pids.entries()) {
    if (commandOf(pid) !== '' && commandOf(pid) === commands[n]) process.kill(pid, 'SIGKILL')
  }
}

function pidOf(pids: readonly number[], program: string): number {
  const found = pids.find((pid) => /^\S*node /.test(commandOf(pid)) && commandOf(pid).includes(program))
  if (found === undefined) throw new Error(`none of ${pids.map(commandOf).join('; ')} is ${program}`)
  return found
}

function commandOf(pid: number): string {
  return PROCESSES.commandLines().get(pid) ?? ''
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Processes with the folder on their command line: the database, and anything started for it. */
function processesNaming(folder: string): string[] {
  return [...PROCESSES.commandLines().values()].filter((line) => line.includes(folder))
}
