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

/** Only on a terminal, and not when somebody asked for none: https://no-color.org */
export function wantsColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

/** What a terminal obeys: control characters, and those that turn the direction of writing. */
const OBEYED = '[\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]'
const obeyed = new RegExp(OBEYED, 'g')
/** Line breaks, our own colours, and the two ways in which we write over a line. */
const ourOwn = new RegExp(`(\\n|\\x1b\\[(?:[0-2]|22|3[1-69])m|\\r\\x1b\\[2?K)|${OBEYED}`, 'g')

/** Names come from the store, and a terminal obeys what it is sent: what it would obey is shown as a mark instead. */
export function printable(text: string): string {
  return text.replace(obeyed, '\ufffd')
}

/** The last line of defence, for all that is printed: a place that forgot `printable` can at worst be painted. */
export function washed(text: string): string {
  return text.replace(ourOwn, (_, own: string | undefined) => own ?? '\ufffd')
}

/** JSON that says the same and holds nothing a terminal obeys: `JSON.stringify` leaves some of it as it is. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(obeyed, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
