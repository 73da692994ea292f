import { createInterface } from 'node:readline/promises'

/** What a person at a terminal gets and a script does not. */
export interface Terminal {
  /** Whether standard output shows colours, and standard error. */
  readonly isColoured: { readonly out: boolean; readonly err: boolean }
  /** Replaces the last line of standard error; undefined where that is no terminal. */
  readonly redraw?: (line: string) => void
  /** Undefined when there is nobody to answer. */
  readonly ask?: (question: string) => Promise<string>
}

/** NO_COLOR: https://no-color.org */
export function terminalOf({ stdin, stdout, stderr, env }: NodeJS.Process): Terminal {
  const isColoured = (stream: { isTTY?: boolean }) =>
    stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  return {
    isColoured: { out: isColoured(stdout), err: isColoured(stderr) },
    ...(stderr.isTTY && { redraw: (line: string) => void stderr.write(`\r\x1b[K${line}`) }),
    ...(stdin.isTTY && stderr.isTTY && { ask }),
  }
}

/** On stderr, so that stdout has only the result. Ctrl-C and Ctrl-D are no answer. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    lines.once('SIGINT', () => lines.close())
    return await Promise.race([lines.question(question), closed])
  } finally {
    lines.close()
  }
}

const RED = /\b(?:CLOSED|DEAD|EMPTY|FAILED|MISSING|NONE|STOP|STOPPED|VIOLATED|WRONG)\b/g
const YELLOW = /\b(?:LOW|PAUSED|WARNING)\b/g
const GREEN = /^(?:All is well\.|All \d+ rules hold\.)$/gm

/** Capitals show what needs attention, with or without colours. For text that has gone through `printable`. */
export function coloured(text: string): string {
  return text
    .replace(RED, '\x1b[1;31m$&\x1b[0m')
    .replace(YELLOW, '\x1b[33m$&\x1b[0m')
    .replace(GREEN, '\x1b[32m$&\x1b[0m')
}

export const red = (text: string) => `\x1b[31m${text}\x1b[0m`
