import { once } from 'node:events'
import { say } from './figures.ts'

/** What the inspector's Profiler.stop returns, as far as it is read here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface Share {
  readonly place: string
  readonly percent: number
}

export interface Profile {
  /** By package, or folder of the service. What the engine does for a caller counts there. */
  readonly parts: readonly Share[]
  readonly functions: readonly Share[]
}

const SAMPLE_EVERY_US = 500
const ENTRIES_SHOWN = 25

/**
 * Profiles another process over its inspector while `work` runs: unlike --cpu-prof it leaves out the start of the process,
 * which would fill the list with the compiler. `log` is what the process wrote to stderr, the inspector's address among it.
 */
export async function profileWhile(log: string, work: () => Promise<unknown>): Promise<Profile> {
  const [address] = /ws:\/\/\S+/.exec(log) ?? []
  if (address === undefined) throw new Error(`the process has no inspector:\n${log}`)
  const socket = new WebSocket(address)
  await once(socket, 'open')
  const ask = async <Reply>(id: number, method: string, params = {}): Promise<Reply> => {
    socket.send(JSON.stringify({ id, method, params }))
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
      const message = JSON.parse(data) as { id?: number; result: Reply }
      if (message.id === id) return message.result
    }
  }
  await ask(1, 'Profiler.enable')
  await ask(2, 'Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
  await ask(3, 'Profiler.start')
  await work()
  const { profile } = await ask<{ profile: CpuProfile }>(4, 'Profiler.stop')
  socket.close()
  return { parts: selfTimes(profile, partsOf(profile)), functions: selfTimes(profile, functionsOf(profile)) }
}

/** Share of the time in which each place itself ran, the greatest first. Idle time is left out of the whole. */
function selfTimes({ samples, timeDeltas }: CpuProfile, places: ReadonlyMap<number, string>): Share[] {
  const times = new Map<string, number>()
  for (const [n, id] of samples.entries()) {
    const place = places.get(id) ?? '(unknown)'
    times.set(place, (times.get(place) ?? 0) + (timeDeltas[n] ?? 0))
  }
  times.delete('(idle)')
  const whole = [...times.values()].reduce((sum, time) => sum + time, 0)
  return [...times]
    .map(([place, time]) => ({ place, percent: (100 * time) / whole }))
    .sort((a, b) => b.percent - a.percent)
}

const functionsOf = ({ nodes }: CpuProfile) =>
  new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))

function partsOf({ nodes }: CpuProfile): Map<number, string> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const partOf = (id: number): string => {
    const node = byId.get(id)
    if (!node) return 'node'
    const { url, functionName } = node.callFrame
    if (/^\((idle|garbage collector)\)$/.test(functionName)) return functionName
    const [, part] =
      /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ??
      /\/(service\/src\/[^/]+\/(?:[^/.]+(?=\/))?|contract)/.exec(url) ??
      /^node:(_http|net|internal\/(?:streams|timers|process|crypto))/.exec(url) ??
      []
    if (part !== undefined) return part
    const parent = parents.get(id)
    return parent === undefined ? 'node' : partOf(parent)
  }
  return new Map(nodes.map(({ id }) => [id, partOf(id)]))
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const file = url.replace(/^.*\/node_modules\//, '').replace(/^file:.*\/(?=(service|contract)\/)/, '')
  return `${name} ${file}:${lineNumber + 1}`
}

export function printProfile(name: string, { parts, functions }: Profile): void {
  const list = (by: string, shares: readonly Share[]) => {
    say(`\n${name}: share of its time, by ${by}`)
    for (const { place, percent } of shares.slice(0, ENTRIES_SHOWN))
      say(`${percent.toFixed(1).padStart(6)} %  ${place}`)
  }
  list('part', parts)
  list('function', functions)
}
