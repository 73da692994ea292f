import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { printable } from './print.ts'

export interface Progress {
  /** `remark`: the present step. */
  at(done: number, total: number, remark?: string): void
  /** Removes the line from the terminal. */
  end(): void
}

const REDRAW_MS = 100
/** In a log. */
const LINE_MS = 5_000

/** The progress of a long command, its rate and the remaining time: one line at a terminal, a line every few seconds in a log. */
export function progressOf(
  command: Command,
  { err, terminal }: Pick<CommandContext, 'err' | 'terminal'>,
  what: string,
): Progress {
  const redraw = terminal?.redraw
  const everyMs = redraw ? REDRAW_MS : LINE_MS
  const isSilent = Boolean(command.optsWithGlobals().json)
  let first: { done: number; atMs: number } | undefined
  let lastMs = performance.now()
  let isDrawn = false
  return {
    at(done, total, remark) {
      const nowMs = performance.now()
      first ??= { done, atMs: nowMs }
      if (isSilent || nowMs - lastMs < everyMs) return
      lastMs = nowMs
      const perSecond = (done - first.done) / ((nowMs - first.atMs) / 1_000)
      const text = [
        progressText(what, done, total, perSecond),
        ...(remark === undefined ? [] : [printable(remark)]),
      ].join(': ')
      if (!redraw) return err(`${text}\n`)
      isDrawn = true
      redraw(text)
    },
    end() {
      if (isDrawn) redraw?.('')
    },
  }
}

/** Without a rate until something was measured. */
export function progressText(what: string, done: number, total: number, perSecond: number): string {
  const reached = `${count(done)} of ${count(total)} ${what}`
  if (!(perSecond > 0) || !Number.isFinite(perSecond)) return reached
  const left = Math.ceil((total - done) / perSecond)
  const rate = count(perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond))
  return `${reached}, ${rate}/s, ${left >= 120 ? `${Math.ceil(left / 60)} min` : `${left} s`} left`
}

const count = (n: number) => n.toLocaleString('en-US')
