import { PROCESSES } from '../../servers/index.ts'

/** CPU time of one process, user and kernel; NaN for one that is gone. */
export function cpuMs(pid = 0): number {
  return PROCESSES.one(pid)?.cpuMs ?? Number.NaN
}

/** CPU time of a process and its children, including children that have ended; NaN where only Linux would tell. */
export function familyCpuMs(pid = 0): number {
  const own = PROCESSES.one(pid)
  if (!own) return Number.NaN
  const children = [...PROCESSES.all().values()].filter(({ parent }) => parent === pid)
  return children.reduce((sum, child) => sum + child.cpuMs, own.cpuMs + own.endedChildrenCpuMs)
}

export function residentMb(pid = 0): number {
  return PROCESSES.residentMb(pid)
}
