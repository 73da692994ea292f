import type { Command } from 'commander'
import { printable } from '../platform/plain-text.ts'
import type { CommandContext } from './command-context.ts'

/**
 * One result, two readers: JSON for scripts, lines for people. What came from data cannot act on the terminal in either: JSON
 * may spell any character as an escape, so it still reads as the same values.
 */
export function print(command: Command, { out }: CommandContext, json: unknown, text: () => string): void {
  out(`${command.optsWithGlobals().json ? printable(JSON.stringify(json)) : printableLines(text())}\n`)
}

/** Keeps the line breaks, which are ours. A text from data that may hold some goes through `printable` first. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
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
  const shown = rows.map((row) => row.map(printable))
  const widths = head.map((title, n) => Math.max(title.length, ...shown.map((row) => (row[n] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...shown.map(line)].join('\n')
}

export function day(at: Date): string {
  return at.toISOString().replace('T', ' ').slice(0, 19)
}
