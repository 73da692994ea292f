import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

export interface ProcessFacts {
  readonly name: string
  readonly parent: number
  readonly isZombie: boolean
  /** Distinguishes two processes that had the same pid one after the other. */
  readonly started: string
  /** CPU time, user and kernel. */
  readonly cpuMs: number
  /** Of children that have ended; NaN where the system does not tell. */
  readonly endedChildrenCpuMs: number
}

/** What the system says about processes. */
export interface ProcessReader {
  /** Undefined for a process that is gone, and where the system says nothing, as Windows. */
  one(pid: number): ProcessFacts | undefined
  all(): Map<number, ProcessFacts>
  /** Memory; NaN for a process that is gone. */
  residentMb(pid: number): number
  /** Of every process, with its arguments. */
  commandLines(): Map<number, string>
}

/** Linux: files, at hardly any cost. */
export const BY_PROC: ProcessReader = {
  one: (pid) => fromStat(readProc(pid, 'stat')),
  all: () => eachInProc((pid) => BY_PROC.one(pid)),
  residentMb: (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1]) / 1024,
  commandLines: () =>
    eachInProc((pid) => readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim() || undefined),
}

/** macOS and the other Unixes. */
export const BY_PS: ProcessReader = {
  one: (pid) => ps(['-p', String(pid)], PS_FACTS, fromPs).get(pid),
  all: () => ps(['-A'], PS_FACTS, fromPs),
  residentMb: (pid) => (ps(['-p', String(pid)], 'rss=', Number).get(pid) ?? Number.NaN) / 1024,
  commandLines: () => ps(['-A', '-ww'], 'args=', (line) => line),
}

export const PROCESSES = existsSync('/proc/self/stat') ? BY_PROC : BY_PS

/** Linux counts in hundredths of a second. */
const TICK_MS = 10
const PS_FACTS = 'ppid=,state=,lstart=,time=,comm='
const PS_FACTS_LINE = /^(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(\S+)\s+(.+)$/
const PS_BYTES_MAX = 2 ** 24

function eachInProc<Fact>(read: (pid: number) => Fact | undefined): Map<number, Fact> {
  const found = new Map<number, Fact>()
  for (const name of readdirSync('/proc')) {
    const fact = /^\d+$/.test(name) ? read(Number(name)) : undefined
    if (fact !== undefined) found.set(Number(name), fact)
  }
  return found
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}

function fromStat(text: string | undefined): ProcessFacts | undefined {
  if (text === undefined) return undefined
  // The command name is in brackets and may itself contain spaces and brackets.
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const number = (n: number) => Number(fields[n])
  return {
    name: text.slice(text.indexOf('(') + 1, end),
    isZombie: fields[0] === 'Z',
    parent: number(1),
    cpuMs: TICK_MS * (number(11) + number(12)),
    endedChildrenCpuMs: TICK_MS * (number(13) + number(14)),
    started: fields[19] ?? '',
  }
}

/** Empty when there is no such process, and where there is no ps. */
function ps<Fact>(
  which: readonly string[],
  columns: string,
  read: (line: string) => Fact | undefined,
): Map<number, Fact> {
  const { pid: own, stdout } = spawnSync('ps', [...which, '-o', `pid=,${columns}`], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: PS_BYTES_MAX,
  })
  const found = new Map<number, Fact>()
  for (const line of stdout?.split('\n') ?? []) {
    const [, pid, rest = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    const fact = pid === undefined ? undefined : read(rest.trim())
    if (fact !== undefined) found.set(Number(pid), fact)
  }
  // It lists itself, as a child of this process.
  found.delete(own)
  return found
}

function fromPs(line: string): ProcessFacts | undefined {
  const [, parent, state = '', started = '', time = '', path = ''] = PS_FACTS_LINE.exec(line) ?? []
  return parent === undefined
    ? undefined
    : {
        name: basename(path),
        parent: Number(parent),
        isZombie: state.startsWith('Z'),
        started,
        cpuMs: 1_000 * secondsOf(time),
        endedChildrenCpuMs: Number.NaN,
      }
}

/** `1-02:03:04` of Linux and `3:04.05` of macOS. */
function secondsOf(time: string): number {
  const [clock = '', days = '0'] = time.split('-').reverse()
  return clock.split(':').reduce((sum, part) => 60 * sum + Number(part), 0) + 86_400 * Number(days)
}
