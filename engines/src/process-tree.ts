import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

/** Ends a process and everything it started, at once. Returns every pid that was killed. */
export function killTree(pid: number): number[] {
  // Frozen first, so that it cannot fork between the listing and the kill.
  if (!send(pid, 'SIGSTOP')) return []
  const family = [pid, ...descendantsOf(pid)]
  for (const member of family) send(member, 'SIGKILL')
  return family
}

export function descendantsOf(pid: number): number[] {
  const parents = HAS_PROC ? parentsFromProc() : parentsFromPs()
  const found = [pid]
  // The list grows while it is walked, so grandchildren are reached too.
  for (const ancestor of found) {
    for (const [child, parent] of parents) if (parent === ancestor) found.push(child)
  }
  return found.slice(1)
}

/** The name and parent of a process; undefined when it has ended, or where /proc does not exist. */
export function lookUp(pid: number): { name: string; parent: number } | undefined {
  if (HAS_PROC) return readStat(pid)
  try {
    const said = execFileSync('ps', ['-o', 'ppid=,comm=', '-p', String(pid)], { encoding: 'utf8' })
    const [, parent, path = ''] = /^\s*(\d+)\s+(.+)/.exec(said) ?? []
    return parent === undefined ? undefined : { name: basename(path.trim()), parent: Number(parent) }
  } catch {
    return undefined
  }
}

/** False when there is no such process any more. */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** A zombie counts as dead: in a container whose PID 1 does not reap children it would stay for ever. */
export function isAlive(pid: number): boolean {
  return HAS_PROC ? (readStat(pid)?.state ?? 'Z') !== 'Z' : isTaken(pid)
}

/** Whether the kernel still knows the pid, as a zombie or as another process. */
export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Distinguishes two processes that had the same pid one after the other. Without /proc every process has the same
 * mark, and only the pid is compared.
 */
export function birthMark(pid: number): string {
  return HAS_PROC ? (readStat(pid)?.startTicks ?? 'gone') : ''
}

const HAS_PROC = existsSync('/proc/self/stat')

function parentsFromProc(): Map<number, number> {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined
    if (stat) parents.set(pid, stat.parent)
  }
  return parents
}

function parentsFromPs(): Map<number, number> {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return new Map(lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]))
}

function readStat(
  pid: number,
): { name: string; state: string; parent: number; startTicks: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name is in brackets and may itself contain spaces and brackets.
    const end = text.lastIndexOf(')')
    const fields = text.slice(end + 2).split(' ')
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      state: fields[0] ?? 'Z',
      parent: Number(fields[1]),
      startTicks: fields[19] ?? '',
    }
  } catch {
    return undefined
  }
}
