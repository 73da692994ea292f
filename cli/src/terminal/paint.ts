export interface Paint {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export function paintFor(isColoured: boolean): Paint {
  const entries = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (isColoured && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ])
  return Object.fromEntries(entries)
}

/** Only on a terminal, and not when NO_COLOR is set: https://no-color.org */
export function wantsColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

/** Control characters and bidirectional overrides, which a terminal would execute. */
const OBEYED = '[\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]'
const obeyed = new RegExp(OBEYED, 'g')
/** Allowed: line breaks, our own colours, and our two sequences that redraw a line. */
const ourOwn = new RegExp(`(\\n|\\x1b\\[(?:[0-2]|22|3[1-69])m|\\r\\x1b\\[2?K)|${OBEYED}`, 'g')

/** Names come from the store and are untrusted: control characters are replaced before they reach the terminal. */
export function printable(text: string): string {
  return text.replace(obeyed, '\ufffd')
}

/** Applied to everything that is printed: where `printable` was forgotten, untrusted text can at most set a colour. */
export function washed(text: string): string {
  return text.replace(ourOwn, (_, own: string | undefined) => own ?? '\ufffd')
}

/** Equivalent JSON without control characters for terminals: `JSON.stringify` does not escape all of them. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(obeyed, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
