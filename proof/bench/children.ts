import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Server {
  readonly port: number
  /** CPU time it has used so far, in user and kernel. */
  cpuMs(): number
  /** What it has written to stderr so far. */
  complaints(): string
  /** Memory it holds now, in MB. */
  residentMb(): number
  /** From the start of the process until it was ready. */
  readonly readyMs: number
  /** Without a farewell; a bench leaves nothing behind that would need one. */
  kill(): Promise<void>
}

/** A machine that is busy with other work may take ten times as long as it should. */
const READY_MS_MAX = 120_000
const POLL_MS = 50
const COMPLAINTS_LENGTH_MAX = 4_000

const running = new Set<ChildProcess>()
const folders = new Set<string>()

// Whatever ends this process ends its children first. The engines have a leash of their own.
process.on('exit', endAll)
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => process.exit(code))
}

export function endAll(): void {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shopwire-bench-'))
  folders.add(folder)
  return folder
}

/** Runs a program to its end and gives back what it printed. */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = start(command, args, env, ['ignore', 'pipe', 'pipe'])
  let printed = ''
  let complaints = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code === 0) return printed
  throw new Error(`${command} ${args.slice(0, 3).join(' ')} ended with ${code}:\n${complaints}${printed}`)
}

/** Starts a server of ours as one process; `stdout` is a file descriptor. Settles when `readyUrl` answers. */
export async function startServer(
  args: readonly string[],
  env: Record<string, string>,
  how: { port: number; readyUrl: string; isReady: (status: number) => boolean; stdout: number },
): Promise<Server> {
  const child = start(process.execPath, args, env, ['ignore', how.stdout, 'pipe'])
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-COMPLAINTS_LENGTH_MAX)
  })
  const began = performance.now()
  const deadline = began + READY_MS_MAX
  for (;;) {
    const status = await fetch(how.readyUrl).then(
      (response) => response.status,
      () => 0,
    )
    if (how.isReady(status)) {
      return {
        port: how.port,
        readyMs: performance.now() - began,
        cpuMs: () => cpuMs(child.pid),
        residentMb: () => residentMb(child.pid),
        complaints: () => complaints,
        async kill() {
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          await exited
        },
      }
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`${args.join(' ')} did not become ready (${status}):\n${complaints}`)
    }
    await sleep(POLL_MS)
  }
}

/** Linux counts in hundredths of a second. Elsewhere there is nothing to read, and the figure is left out. */
function cpuMs(pid = 0): number {
  const { own } = processTimes(pid)
  return own
}

/** Of a process and its children, also of those that have ended. */
export function familyCpuMs(pid = 0): number {
  const { own, ended } = processTimes(pid)
  let all = own + ended
  for (const entry of existsSync('/proc') ? readdirSync('/proc') : []) {
    const times = /^\d+$/.test(entry) ? processTimes(entry) : undefined
    if (times?.parent === pid) all += times.own
  }
  return all
}

function processTimes(pid: number | string): { parent: number; own: number; ended: number } {
  try {
    // After the name, which may hold anything, the fields are numbers.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? []
    const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map((n) => fields[n]) as [
      number,
      number,
      number,
      number,
      number,
    ]
    return { parent, own: 10 * (user + system), ended: 10 * (endedUser + endedSystem) }
  } catch {
    return { parent: 0, own: Number.NaN, ended: Number.NaN }
  }
}

function residentMb(pid = 0): number {
  try {
    const [, kb] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kb) / 1024
  } catch {
    return Number.NaN
  }
}

function start(command: string, args: readonly string[], env: Record<string, string>, stdio: StdioOptions) {
  // Nothing is inherited but the path: the service refuses to start with SHOPWIRE_ variables that it does not know.
  const child = spawn(command, args, { env: { PATH: process.env.PATH ?? '', ...env }, stdio })
  running.add(child)
  return child.once('exit', () => running.delete(child)).once('error', () => running.delete(child))
}
