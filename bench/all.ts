import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rounded, say } from './shared/figures.ts'
import type { BenchOptions } from './shared/options.ts'
import { plotRatios } from './shared/ratio-plot.ts'

/** Numbers; and beside a ratio, as `<its name>_spread`, the least and the most of the rounds. */
type Figures = Readonly<Record<string, number | readonly number[]>>

const RUN = fileURLToPath(new URL('./run.ts', import.meta.url))
const RECORDED = new URL('./recorded.json', import.meta.url)
const PICTURE = new URL('../docs/ratios.svg', import.meta.url)
/** Those that say something within a minute or two. */
const BENCHES: Readonly<Record<string, readonly string[]>> = {
  reads: [],
  orders: [],
  webhooks: ['--only', 'speed'],
}
const QUICK = ['--seconds', '2', '--rounds', '2']
/** Rates and ratios of short runs on a shared machine vary by half; processor time for one operation does not double by itself. */
const WORSE_MAX = 2
const CPU_FIGURE = /_us$/
const WIDTHS = [32, 12, 12, 10, 16] as const

/**
 * Runs one bench after the other and compares the figures with the recorded ones. Fails only when the processor time of an operation has
 * doubled. With --record the new figures are recorded, and drawn.
 */
export async function all({ quick, record, seconds, rounds }: BenchOptions): Promise<void> {
  const length = quick ? QUICK : ['--seconds', String(seconds), '--rounds', String(rounds)]
  const measured: Record<string, Figures> = {}
  for (const [name, own] of Object.entries(BENCHES)) {
    say(`running ${name}`)
    measured[name] = await lastLine([name, ...length, ...own])
  }
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Figures>
  const doubled = compare(recorded, measured)
  if (record) {
    writeFileSync(RECORDED, `${JSON.stringify(measured, null, 2)}\n`)
    writeFileSync(PICTURE, plotRatios(measured))
  }
  say(JSON.stringify({ bench: 'all', doubled, ...measured }))
  if (doubled.length > 0)
    throw new Error(`the processor time of an operation has doubled: ${doubled.join(', ')}`)
}

async function lastLine(args: readonly string[]): Promise<Figures> {
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, ...args], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const { bench: _, ...figures } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  return figures
}

/** Prints all of them; returns those that have doubled. */
function compare(
  recorded: Readonly<Record<string, Figures>>,
  measured: Readonly<Record<string, Figures>>,
): string[] {
  const doubled: string[] = []
  say(row('', 'recorded', 'now', 'change', 'rounds'))
  for (const [bench, figures] of Object.entries(measured)) {
    for (const [name, now] of Object.entries(figures)) {
      if (typeof now !== 'number') continue
      const before = recorded[bench]?.[name]
      const change = typeof before === 'number' ? now / before : undefined
      const isDoubled = change !== undefined && CPU_FIGURE.test(name) && change >= WORSE_MAX
      if (isDoubled) doubled.push(`${bench} ${name}`)
      const spread = figures[`${name}_spread`]
      const rounds = typeof spread === 'object' ? spread.join(' to ') : ''
      const changed = change === undefined ? '-' : `x ${rounded(change, 2)}`
      say(row(`${bench} ${name}`, typeof before === 'number' ? before : '-', now, changed, rounds))
    }
  }
  return doubled
}

function row(name: string, ...values: (string | number)[]): string {
  return [
    name.padEnd(WIDTHS[0]),
    ...values.map((value, n) => String(value).padStart(WIDTHS[n + 1] ?? 0)),
  ].join('')
}
