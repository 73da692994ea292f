import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { descendantsOf, isAlive } from '@shopwire/engines'
import { expect, onTestFinished, test } from 'vitest'

const READY_MS_MAX = 60_000
/** In order, and by force where that hangs. */
const GONE_MS_MAX = 30_000

test('npm run dev is ready within a minute, its printed command buys an order when pasted, and Ctrl-C leaves no process', async () => {
  const data = await dataFolder()
  const startedMs = performance.now()
  const { dev, printed, ports } = await startDev(data)
  expect(performance.now() - startedMs).toBeLessThan(READY_MS_MAX)

  const pasted = /^key=[\s\S]*?^$/m.exec(printed)?.[0] ?? ''
  const { stdout } = await promisify(execFile)('bash', ['-c', pasted])
  expect(stdout.match(/^HTTP\/1\.1 .*$/gm)?.map((line) => line.trim())).toEqual([
    'HTTP/1.1 200 OK',
    'HTTP/1.1 201 Created',
    'HTTP/1.1 200 OK',
  ])
  expect(stdout).toContain('"name":"Aurora Ring"')
  expect(stdout).toContain('idempotent-replayed: true')
  expect(stdout).toMatch(/"links":\["https:\/\/gift\.example\//)

  process.kill(-(dev.pid as number), 'SIGINT')
  await once(dev, 'close')
  for (const port of ports) expect(await isListening(port)).toBe(false)
  expect(await processesNaming(data)).toEqual([])
})

test('npm run dev leaves no process when npm is ended by a signal or its child is killed', async () => {
  const data = await dataFolder()
  // As a supervisor, a closed terminal or a person with another terminal would: one process is meant, the others have to notice.
  for (const [who, signal] of [
    ['npm', 'SIGTERM'],
    ['npm', 'SIGINT'],
    ['npm', 'SIGHUP'],
    ['npm', 'SIGKILL'],
    ['dev.ts', 'SIGKILL'],
  ] as const) {
    const { dev, printed, ports } = await startDev(data)
    const npm = dev.pid as number
    const family = [npm, ...descendantsOf(npm)]
    onTestFinished(() => killRest(family, family.map(commandOf)))
    // npm, perhaps a shell, dev.ts, two watchers with a server each, the database and its own processes, and what ends them.
    expect(family.length, printed).toBeGreaterThan(8)
    process.kill(who === 'npm' ? npm : pidOf(family, 'tools/dev.ts'), signal)
    await expect
      .poll(() => family.filter(isAlive).map(commandOf), {
        timeout: GONE_MS_MAX,
        message: `${signal} to ${who}`,
      })
      .toEqual([])
    for (const port of ports) expect(await isListening(port), `${signal} to ${who}: port ${port}`).toBe(false)
    expect(await processesNaming(data)).toEqual([])
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
async function startDev(data: string) {
  const dev = spawn('npm', ['run', 'dev', '--', '--data', data], {
    cwd: new URL('..', import.meta.url),
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
      /http:\/\/127\.0\.0\.1:(\d+)\/(?:v1\/status|readyz)|PostgreSQL: .*port (\d+)|worker: port (\d+)/g,
    ),
  ].map(([, ...found]) => Number(found.find(Boolean)))
  expect(ports).toHaveLength(4)
  return { dev, printed, ports }
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
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
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
async function processesNaming(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter((line) => line.includes(folder)).map((line) => line.replaceAll('\0', ' '))
}
