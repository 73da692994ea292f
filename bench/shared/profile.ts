import { once } from 'node:events'
import { say } from './figures.ts'

/** What the inspector's Profiler.stop returns, as far as it is read here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface ProfileEntry {
  readonly place: string
  readonly percent: number
}

const SAMPLE_EVERY_US = 500
const ENTRIES_SHOWN = 25

/**
 * Profiles another process over its inspector while `work` runs: unlike --cpu-prof it leaves out the start of the process,
 * which would fill the list with the compiler. `log` is what the process wrote to stderr, the inspector's address among it.
 */
export async function profileWhile(log: string, work: () => Promise<unknown>): Promise<ProfileEntry[]> {
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
  return selfTimes(profile)
}

/** Share of the time in which a function itself ran, the greatest first. Idle time is left out of the whole. */
function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): ProfileEntry[] {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
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

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const file = url.replace(/^.*\/node_modules\//, '').replace(/^file:.*\/(?=(service|contract)\/)/, '')
  return `${name} ${file}:${lineNumber + 1}`
}

export function printProfile(name: string, entries: readonly ProfileEntry[]): void {
  say(`\n${name}: share of its time, by function`)
  for (const { place, percent } of entries.slice(0, ENTRIES_SHOWN)) {
    say(`${percent.toFixed(1).padStart(6)} %  ${place}`)
  }
}
