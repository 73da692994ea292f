import type { Output } from './output.ts'

export interface Progress {
  at(done: number, total: number, remark?: string): void
  end(): void
}

const BAR_WIDTH = 24
const REDRAW_MS = 100
/** Without a terminal, how often a progress line is printed. */
const LINE_MS = 5_000

/** A bar on stderr: redrawn on a terminal, a line every few seconds in a log, nothing with --json. */
export function progressOn(out: Output, what: string): Progress {
  const isTerminal = process.stderr.isTTY === true
  const everyMs = isTerminal ? REDRAW_MS : LINE_MS
  let last = isTerminal ? 0 : Date.now()
  let isDrawn = false
  return {
    at(done, total, remark = '') {
      if (out.isJson || (Date.now() - last < everyMs && !(isTerminal && done >= total))) return
      last = Date.now()
      const text = `${what} ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}${remark && `, ${remark}`}`
      if (!isTerminal) return out.rawError(`${text}\n`)
      isDrawn = true
      const filled = total === 0 ? BAR_WIDTH : Math.min(BAR_WIDTH, Math.round((done / total) * BAR_WIDTH))
      const bar = `${'█'.repeat(filled)}${out.paintError.dim('░'.repeat(BAR_WIDTH - filled))}`
      out.rawError(`\r\x1b[K${bar} ${text}`)
    },
    end() {
      if (isDrawn) out.rawError('\r\x1b[K')
    },
  }
}
