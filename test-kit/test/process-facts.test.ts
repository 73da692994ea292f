import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BY_PROC, BY_PS, PROCESSES } from '../servers/processes/process-facts.ts'
import { descendantsOf, isAlive, send } from '../servers/processes/process-tree.ts'

const READERS = [
  { name: 'ps', reader: BY_PS },
  ...(process.platform === 'linux' ? [{ name: '/proc', reader: BY_PROC }] : []),
]

test('Linux is read by /proc, other systems by ps', () => {
  expect(PROCESSES).toBe(process.platform === 'linux' ? BY_PROC : BY_PS)
})

// Not by the ps of Linux, which computes it anew from the clock and may be a second off.
test('a process keeps its start', async () => {
  const { pid } = await startChild('setInterval(() => {}, 1e6)')
  const started = PROCESSES.one(pid)?.started
  expect(started).toBeDefined()
  expect(PROCESSES.one(pid)?.started).toBe(started)
  expect(PROCESSES.all().get(pid)?.started).toBe(started)
})

describe.each(READERS)('by $name', ({ reader }) => {
  test('a process has its name, parent, start, memory and command line', async () => {
    const { pid } = await startChild('setInterval(() => {}, 1e6)')
    const facts = reader.one(pid)
    expect(facts).toMatchObject({ parent: process.pid, isZombie: false })
    // The name of the program, or of its main thread.
    expect(facts?.name).toMatch(/node|MainThread/i)
    expect(facts?.started).not.toBe('')
    expect(reader.all().get(pid)).toMatchObject({ parent: process.pid, name: facts?.name })
    expect(reader.residentMb(pid)).toBeGreaterThan(5)
    expect(reader.commandLines().get(pid)).toContain('setInterval(() => {}, 1e6)')
  })

  test('its CPU time is that which it says it used', async () => {
    // Long enough for systems that count whole seconds.
    const child = await startChild(
      'while (process.cpuUsage().user < 1_100_000); setInterval(() => {}, 1e6); console.log("used")',
    )
    if (!child.said().includes('used')) await once(child.stdout, 'data')
    expect(reader.one(child.pid)?.cpuMs).toBeGreaterThanOrEqual(1_000)
    expect(reader.one(child.pid)?.cpuMs).toBeLessThan(10_000)
  })

  test('finds children and their children, and not the program that it asks', async () => {
    const { pid, said } = await startChild(
      "const { pid } = require('node:child_process').spawn('sleep', ['60']); console.log(pid + ';')",
      ';',
    )
    const grandchild = Number.parseInt(said().replace('ready', ''), 10)
    onTestFinished(() => void send(grandchild, 'SIGKILL'))
    expect(descendantsOf(process.pid, reader).sort()).toEqual([pid, grandchild].sort())
  })

  test('a process that has ended, but whose parent has not asked for its end, is not alive', async () => {
    // The shell becomes sleep, which does not ask for the end of the child that it inherits.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [printed] = await once(parent.stdout, 'data')
    const child = Number(printed)
    await expect.poll(() => reader.one(parent.pid ?? 0)?.name).toBe('sleep')
    expect([reader.one(child)?.isZombie, isAlive(child)]).toEqual([false, true])
    send(child, 'SIGKILL')
    await expect.poll(() => reader.one(child)?.isZombie).toBe(true)
    expect(isAlive(child)).toBe(false)
  })

  test('a process that is gone is undefined', async () => {
    const child = spawn('true')
    await once(child, 'exit')
    const pid = child.pid ?? 0
    expect(reader.one(pid)).toBe(undefined)
    expect(reader.residentMb(pid)).toBe(Number.NaN)
    expect(isAlive(pid)).toBe(false)
  })
})

/** A Node that runs the code and has printed the text. */
async function startChild(code: string, until = 'ready') {
  const child = spawn(process.execPath, ['-e', `console.log('ready'); ${code}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  while (!printed.includes(until)) await once(child.stdout, 'data')
  return { pid: child.pid ?? 0, stdout: child.stdout, said: () => printed }
}
