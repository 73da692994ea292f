import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { KILLED_MS_MAX, REAPER_POLITE_MS_MAX, TEMPORARY_PREFIX } from '../limits.ts'
import { until } from '../until.ts'
import { PROCESSES } from './process-facts.ts'
import { isAlive, killTree, send } from './process-tree.ts'

/**
 * The reaper: a separate process with a pipe to the process that starts engines. When the pipe
 * closes, for whatever reason, even a kill -9, it ends the engines still on its list and removes
 * their temporary folders. No signal handler in the parent could do that.
 */
export type ReaperOrder =
  | { order: 'hold'; pid: number; polite: NodeJS.Signals }
  | { order: 'release'; pid: number }
  | { order: 'hold-folder'; path: string }
  | { order: 'release-folder'; path: string }

interface Held {
  /** Another process may have the pid by the time it is ended. */
  started: string
  polite: NodeJS.Signals
}

keepWatch()

function keepWatch() {
  // A signal meant for the parent must not end the reaper first; it ends when the pipe closes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const held = new Map<number, Held>()
  const folders = new Set<string>()
  process.stdin.on('error', () => {})
  createInterface({ input: process.stdin })
    .on('line', (line) => obey(line, held, folders))
    .on('close', () => void endAll(held, folders))
}

function obey(line: string, held: Map<number, Held>, folders: Set<string>) {
  const given = parse(line)
  if (given?.order === 'hold') held.set(given.pid, { started: startOf(given.pid), polite: given.polite })
  if (given?.order === 'release') held.delete(given.pid)
  if (given?.order === 'hold-folder' && basename(given.path).startsWith(TEMPORARY_PREFIX)) {
    folders.add(given.path)
  }
  if (given?.order === 'release-folder') folders.delete(given.path)
}

/** The last line may be incomplete when the parent dies while writing it. */
function parse(line: string): ReaperOrder | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function endAll(held: Map<number, Held>, folders: Set<string>) {
  await Promise.allSettled([...held].map(([pid, { started, polite }]) => end(pid, started, polite)))
  await Promise.allSettled(
    [...folders].map((path) => rm(path, { recursive: true, force: true, maxRetries: 5 })),
  )
}

async function end(pid: number, started: string, polite: NodeJS.Signals) {
  const isGone = () => !isAlive(pid) || startOf(pid) !== started
  if (isGone()) return
  send(pid, polite)
  // A paused process handles signals only after SIGCONT.
  send(pid, 'SIGCONT')
  await until(isGone, REAPER_POLITE_MS_MAX, () => `${pid} is still there`).catch(() => killTree(pid))
  await until(isGone, KILLED_MS_MAX, () => `${pid} is still running after SIGKILL`)
}

function startOf(pid: number): string {
  return PROCESSES.one(pid)?.started ?? ''
}
