import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LeashOrder } from './leash.ts'
import { KILLED_MS_MAX, TEMPORARY_PREFIX } from './limits.ts'
import { isAlive, killTree, send } from './process-tree.ts'
import { until } from './until.ts'

/** A child that cannot outlive this process, however this process ends. */
export interface Leashed {
  pid: number
  /** Settles when the child is gone and off the leash. */
  exited: Promise<void>
  isRunning(): boolean
  /** Null while it runs and when a signal ended it. */
  exitCode(): number | null
  /** Sends a signal and tells whether the child was gone in time. */
  end(signal: NodeJS.Signals, msMax: number): Promise<boolean>
  /** Kills the child and its own children, and waits until the kernel has cleared them away. */
  killAll(): Promise<void>
}

export interface LeashedOptions {
  cwd: string
  log: string
  env?: Record<string, string>
  owner?: { uid: number; gid: number } | undefined
  /** The signal that asks this program to shut down in good order. */
  polite: NodeJS.Signals
}

const APPEND_NO_LINK =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0)

export function spawnLeashed(command: string, args: string[], options: LeashedOptions): Leashed {
  // No link is followed: the folder may belong to the user that the child runs as.
  const log = openSync(options.log, APPEND_NO_LINK, 0o600)
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? {},
    ...options.owner,
    stdio: ['ignore', log, log],
    // Its own session: Ctrl-C in a terminal reaches us, and we decide when the engines end.
    detached: true,
  })
  closeSync(log)
  // Otherwise a script that forgot stop() would hang instead of ending, and its engines with it.
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
      // A paused process acts on a signal only after it is woken.
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
      await until(allGone, KILLED_MS_MAX, () => `some of ${family} outlived SIGKILL`)
      await exited
    },
  }
}

/**
 * From now on the child ends with this process, however that ends: `polite` asks it to shut down, and what it started ends with
 * it at the latest. Settles when the child is gone by itself.
 */
export async function endWithParent(child: ChildProcess, polite: NodeJS.Signals): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  const exited = once(child, 'exit')
  hold(pid, { order: 'hold', pid, polite })
  await exited
  await release(pid, { order: 'release', pid })
}

/** A temporary folder that is removed with this process at the latest. */
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
let leash: ChildProcess | undefined

function hold(what: number | string, order: LeashOrder) {
  leash ??= startLeash()
  held.add(what)
  tell(leash, order)
}

/** The leash goes when it has nothing left to hold, so that stopping everything leaves no process at all. */
async function release(what: number | string, order: LeashOrder): Promise<void> {
  const current = leash
  if (!held.delete(what) || !current) return
  tell(current, order)
  if (held.size > 0) return
  leash = undefined
  current.stdin?.end()
  const isGone = () => current.exitCode !== null || current.signalCode !== null
  await until(isGone, KILLED_MS_MAX, () => 'the leash hangs').catch(() => current.kill('SIGKILL'))
}

function tell(to: ChildProcess, order: LeashOrder) {
  to.stdin?.write(`${JSON.stringify(order)}\n`)
}

/** Beside this file, in the language this file is in: the emulator's package carries both compiled. */
const LEASH = import.meta.url.endsWith('.ts') ? './leash.ts' : './leash.mjs'

function startLeash(): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(LEASH, import.meta.url))], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.unref()
  // The pipe must not keep this process running either; a pipe of a child is a socket underneath.
  ;(child.stdin as unknown as { unref(): void }).unref()
  child.stdin?.on('error', () => {})
  child.on('error', () => {})
  return child
}

// The second line of defence, should somebody have killed the leash itself.
process.on('exit', () => {
  const leashIsDead = leash?.exitCode !== null || leash?.signalCode !== null
  if (leashIsDead) for (const pid of held) if (typeof pid === 'number') killTree(pid)
})
