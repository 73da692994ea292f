import { PROCESSES } from './process-facts.ts'

/** Ends a process and everything it started, at once. Returns every pid that was killed. */
export function killTree(pid: number): number[] {
  // Frozen first, so that it cannot fork between the listing and the kill.
  if (!send(pid, 'SIGSTOP')) return []
  const family = [pid, ...descendantsOf(pid)]
  for (const member of family) send(member, 'SIGKILL')
  return family
}

export function descendantsOf(pid: number, processes = PROCESSES): number[] {
  const all = processes.all()
  const found = [pid]
  // The list grows while it is walked, so grandchildren are reached too.
  for (const ancestor of found) {
    for (const [child, { parent }] of all) if (parent === ancestor) found.push(child)
  }
  return found.slice(1)
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
  return isTaken(pid) && !PROCESSES.one(pid)?.isZombie
}

/** Whether the kernel still knows the pid, as a zombie or as another process. */
export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
