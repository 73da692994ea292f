import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KILLED_MS_MAX, TEMPORARY_PREFIX } from '../limits.ts'
import { until } from '../until.ts'
import { isAlive, killTree, send } from './process-tree.ts'
import type { ReaperOrder } from './reaper.ts'

/** A child process that ends with this process, however this process ends. */
export interface ManagedChild {
  pid: number
  /** Resolves when the child has ended and is no longer registered with the reaper. */
  exited: Promise<void>
  isRunning(): boolean
  /** Null while it runs and when a signal ended it. */
  exitCode(): number | null
  /** Sends a signal and returns whether the child ended in time. */
  end(signal: NodeJS.Signals, msMax: number): Promise<boolean>
  /** Kills the child and its own children, and waits until the kernel has removed them. */
  killAll(): Promise<void>
}

export interface ManagedChildOptions {
  cwd: string
  log: string
  env?: Record<string, string>
  owner?: { uid: number; gid: number } | undefined
  /** The signal for a graceful shutdown of this program. */
  polite: NodeJS.Signals
}

const APPEND_NO_LINK =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0)

export function spawnManagedChild(
  command: string,
  args: string[],
  options: ManagedChildOptions,
): ManagedChild {
  // Symbolic links are not followed: the folder may belong to the user that the child runs as.
  const log = openSync(options.log, APPEND_NO_LINK, 0o600)
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? {},
    ...options.owner,
    stdio: ['ignore', log, log],
    // In its own session, so that Ctrl-C in a terminal reaches only this process, which stops the engines itself.
    detached: true,
  })
  closeSync(log)
  // Otherwise a script that does not call stop() would never exit.
  child.unref()
  const { pid } = child
  if (pid === undefined) {
    child.on('error', () => {})
    throw new Error(`could not start ${command}`)
  }
  const exited = endWithParent(child, options.polite)
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const isGone = () => !isRunning()
  return {
    pid,
    exited,
    isRunning,
    exitCode: () => child.exitCode,
    async end(signal, msMax) {
      if (isGone()) return true
      send(pid, signal)
      // A paused process handles signals only after SIGCONT.
      send(pid, 'SIGCONT')
      return until(isGone, msMax, () => `${pid} still runs`).then(
        () => exited.then(() => true),
        () => false,
      )
    },
    async killAll() {
      if (isGone()) return
      const family = killTree(pid)
      const allGone = () => isGone() && !family.some(isAlive)
      await until(allGone, KILLED_MS_MAX, () => `some of ${family} are still running after SIGKILL`)
      await exited
    },
  }
}

/**
 * Ties the child's life to this process, however that ends: the signal `polite` asks it to shut down, and its own
 * children end with it at the latest. Resolves when the child has ended by itself.
 */
export async function endWithParent(child: ChildProcess, polite: NodeJS.Signals): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  const exited = once(child, 'exit')
  hold(pid, { order: 'hold', pid, polite })
  await exited
  await release(pid, { order: 'release', pid })
}

/** Creates a temporary folder that is removed when this process ends, at the latest. */
export async function makeTemporaryFolder(parent: string, name: string): Promise<string> {
  const path = await mkdtemp(join(parent, `${TEMPORARY_PREFIX}${name}-`))
  hold(path, { order: 'hold-folder', path })
  return path
}

export async function removeTemporaryFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 })
  await release(path, { order: 'release-folder', path })
}

const held = new Set<number | string>()
let reaper: ChildProcess | undefined

function hold(what: number | string, order: ReaperOrder) {
  reaper ??= startReaper()
  held.add(what)
  sendOrder(reaper, order)
}

/** The reaper ends when nothing is registered any more, so that stopping everything leaves no process. */
async function release(what: number | string, order: ReaperOrder): Promise<void> {
  const current = reaper
  if (!held.delete(what) || !current) return
  sendOrder(current, order)
  if (held.size > 0) return
  reaper = undefined
  current.stdin?.end()
  const isGone = () => current.exitCode !== null || current.signalCode !== null
  await until(isGone, KILLED_MS_MAX, () => 'the reaper does not end').catch(() => current.kill('SIGKILL'))
}

function sendOrder(to: ChildProcess, order: ReaperOrder) {
  to.stdin?.write(`${JSON.stringify(order)}\n`)
}

/** Beside this file, with the same extension: the emulator's package contains both compiled. */
const REAPER = import.meta.url.endsWith('.ts') ? './reaper.ts' : './reaper.mjs'

function startReaper(): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(REAPER, import.meta.url))], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.unref()
  // The pipe must not keep this process running either; internally it is a socket.
  ;(child.stdin as unknown as { unref(): void }).unref()
  child.stdin?.on('error', () => {})
  child.on('error', () => {})
  return child
}

// A fallback in case the reaper itself was killed.
process.on('exit', () => {
  const reaperIsDead = reaper?.exitCode !== null || reaper?.signalCode !== null
  if (reaperIsDead) for (const pid of held) if (typeof pid === 'number') killTree(pid)
})
