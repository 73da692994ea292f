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

/**
 * Names come from the store, and a terminal obeys what it is sent: control characters and those that turn the direction of
 * writing are shown as a mark instead.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}
