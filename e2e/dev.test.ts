import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const READY_MS_MAX = 60_000

test('npm run dev is ready within a minute, what it prints buys something when pasted, Ctrl-C leaves no process', async () => {
  const data = await mkdtemp(join(tmpdir(), 'shopwire-dev-'))
  // A server that may not run as root runs as another user, who must be able to get in.
  await chmod(data, 0o755)
  const dev = spawn('npm', ['run', 'dev', '--', '--data', data], {
    cwd: new URL('..', import.meta.url),
    // As in a terminal: Ctrl-C goes to the whole foreground group.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    // Whatever the test found: nothing it started is left running.
    if (dev.exitCode === null && dev.signalCode === null) {
      process.kill(-(dev.pid as number), 'SIGINT')
      await once(dev, 'close')
    }
    await rm(data, { recursive: true, force: true })
  })
  let printed = ''
  const startedMs = performance.now()
  await new Promise<void>((resolve, reject) => {
    dev.once('close', () => reject(new Error(`ended early:\n${printed}`)))
    dev.stdout.on('data', (chunk: Buffer) => {
      printed += chunk
      if (printed.includes('starts over')) resolve()
    })
  })
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

  const ports = [...printed.matchAll(/http:\/\/127\.0\.0\.1:(\d+)\/(?:v1\/status|readyz)/g)].map(([, port]) =>
    Number(port),
  )
  expect(ports).toHaveLength(2)
  process.kill(-(dev.pid as number), 'SIGINT')
  await once(dev, 'close')
  for (const port of ports) expect(await isListening(port)).toBe(false)
  expect(await processesNaming(data)).toEqual([])
})

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

/** Whoever has the folder on its command line: the database, and anything started for it. */
async function processesNaming(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter((line) => line.includes(folder)).map((line) => line.replaceAll('\0', ' '))
}
