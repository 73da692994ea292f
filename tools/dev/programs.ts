import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { endWithParent, freePort } from '@shopwire/test-kit/servers'

const READY_MS_MAX = 60_000
/** A program that has not ended by then is killed. */
const STOP_MS_MAX = 10_000

export type Say = (line: string) => void

/** One of the service's programs, started again on every change of its sources. */
export function startProgram(
  name: 'api' | 'worker' | 'dashboard',
  env: Readonly<Record<string, string>>,
  say: Say,
): ChildProcess {
  const program = spawn(process.execPath, ['--watch', '--watch-preserve-output', `service/bin/${name}.ts`], {
    env: { ...process.env, ...env },
    // A session of its own: Ctrl-C reaches only this process, which stops the others in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Ends the program also when this process is killed.
  void endWithParent(program, 'SIGTERM')
  for (const stream of [program.stdout, program.stderr]) {
    createInterface({ input: stream }).on('line', (line) => say(readable(name, line)))
  }
  return program
}

/** The programs log JSON; here it is formatted for people. Empty for lines that say nothing new. */
function readable(name: string, line: string): string {
  try {
    const { level, time, msg, status, method, route, duration_ms, error_type, err } = JSON.parse(line)
    if (msg === 'starting') return ''
    const what =
      msg === 'request'
        ? `${status} ${method} ${route} ${Math.round(duration_ms)} ms ${error_type ?? ''}`
        : msg
    return `  ${String(time).slice(11, 19)}  ${name.padEnd(9)}  ${level}  ${what} ${err?.message ?? ''}`.trimEnd()
  } catch {
    return `  ${line}`
  }
}

export async function untilReady(name: string, port: number, program: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  let why = 'no answer'
  while (performance.now() < deadline && program.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok) return
    why = (await answer?.text()) ?? why
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`The ${name} did not become ready: ${why.trim()}. Its lines are above.`)
}

/** The whole group: the watcher and the server under it. */
export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return Promise.resolve()
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid as number), name)
    } catch {
      // It has already ended.
    }
  }
  return new Promise((resolve) => {
    const late = setTimeout(() => signal('SIGKILL'), STOP_MS_MAX)
    child.once('close', () => {
      clearTimeout(late)
      resolve()
    })
    signal('SIGTERM')
  })
}

/** This port, or any other where it is taken. */
export async function portNear(wanted: number): Promise<number> {
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? wanted : freePort()
}
