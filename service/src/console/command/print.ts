import type { Command } from 'commander'
import type { Workplace } from './workplace.ts'

/** One result, two readers: JSON for scripts, lines for people. */
export function print(command: Command, { out }: Workplace, json: unknown, text: () => string): void {
  out(command.optsWithGlobals().json ? `${JSON.stringify(json)}\n` : `${text()}\n`)
}

/** What was asked for did not come about. Thrown after the result was printed, for the exit code and the way out. */
export class NotAsAsked extends Error {
  override readonly name = 'NotAsAsked'
}

export function dollars(cents: number): string {
  const sign = cents < 0 ? '-' : ''
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${sign}$${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-2)}`
}

export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  whenEmpty: string,
): string {
  if (rows.length === 0) return whenEmpty
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => (row[n] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

export function day(at: Date): string {
  return at.toISOString().replace('T', ' ').slice(0, 19)
}
