import { refuse } from '../trouble.ts'

/**
 * Characters that act on a terminal or a page instead of being shown: control characters (they move the cursor and hide text),
 * line separators, and those that change the text direction.
 */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** For texts that people type in and others read. Returns the rule when the text breaks it, otherwise undefined. */
export function objectionToText(text: string, lengthMax: number): string | undefined {
  const length = [...text].length
  if (length >= 1 && length <= lengthMax && text.search(UNPRINTABLE) === -1) return undefined
  return `1 to ${lengthMax} characters, without control characters, line breaks and marks that change the text direction`
}

export function assertPlain(what: string, text: string, lengthMax: number): void {
  const objection = objectionToText(text, lengthMax)
  if (objection !== undefined) throw refuse('invalid_request', `${what} has ${objection}.`)
}

/** The same text with every such character escaped as in JSON. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
