import type { Command } from 'commander'
import { day, dollars } from '../../platform/text/format.ts'
import { printable } from '../../platform/text/plain-text.ts'
import type { CommandContext } from './command-context.ts'
import { coloured } from './terminal.ts'

export { day, dollars, printable }

/**
 * Prints a result as JSON for scripts or as lines for people. Control characters in data never reach the terminal. JSON may write
 * any character as an escape, so it still parses to the same values.
 */
export function print(
  command: Command,
  { out, terminal }: CommandContext,
  json: unknown,
  text: () => string,
): void {
  const isJson = command.optsWithGlobals().json
  const lines = isJson ? printable(JSON.stringify(json)) : printableLines(text())
  out(`${terminal?.isColoured.out && !isJson ? coloured(lines) : lines}\n`)
}

/** Keeps line breaks. Text from data that may contain some has to go through `printable` first. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** The command ran, but the requested state was not reached. Thrown after the result was printed; the message says what to do. */
export class NotDoneError extends Error {
  override readonly name = 'NotDoneError'
}

export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  whenEmpty: string,
): string {
  if (rows.length === 0) return whenEmpty
  const shown = rows.map((row) => row.map(printable))
  const widths = head.map((title, n) => Math.max(title.length, ...shown.map((row) => (row[n] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...shown.map(line)].join('\n')
}

/** The part of incoming money that went to something the account owed. */
export const describeCollected = (cents: number) => `${dollars(cents)} of it paid what the account owed.`

/** How long something has lasted, in its largest unit: `40 s`, `12 min`, `3 h`, `9 days`. */
export function age(seconds: number): string {
  const [size, unit] = AGES.find(([size]) => seconds >= size * 2) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}
const AGES = [
  [86_400, 'days'],
  [3_600, 'h'],
  [60, 'min'],
] as const
