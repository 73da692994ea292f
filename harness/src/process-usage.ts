import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** CPU time of one process, user and kernel. NaN where there is no /proc, and for a process that is gone. */
export function cpuMs(pid = 0): number {
  return processTimes(pid).own
}

/** CPU time of a process and its children, including children that have ended. */
export function familyCpuMs(pid = 0): number {
  const { own, ended } = processTimes(pid)
  let all = own + ended
  for (const entry of existsSync('/proc') ? readdirSync('/proc') : []) {
    const times = /^\d+$/.test(entry) ? processTimes(entry) : undefined
    if (times?.parent === pid) all += times.own
  }
  return all
}

export function residentMb(pid = 0): number {
  try {
    const [, kb] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kb) / 1024
  } catch {
    return Number.NaN
  }
}

/** Linux counts in hundredths of a second. */
function processTimes(pid: number | string): { parent: number; own: number; ended: number } {
  try {
    // The fields after the name, which may contain anything, are numbers.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? []
    const field = (n: number) => fields[n] ?? Number.NaN
    return { parent: field(1), own: 10 * (field(11) + field(12)), ended: 10 * (field(13) + field(14)) }
  } catch {
    return { parent: 0, own: Number.NaN, ended: Number.NaN }
  }
}
