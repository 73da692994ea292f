import { refuse } from '../trouble.ts'

/**
 * Characters that act on a terminal or a page instead of being shown: control characters (they move the cursor and hide text),
 * line separators, and those that change the text direction.
 */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
/** The blocks of scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

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

/** Somebody else's text for use inside a sentence of ours: one that runs from right to left does not reorder the words around it. */
export function isolated(text: string): string {
  const shown = printable(text)
  return RIGHT_TO_LEFT.test(shown) ? `\u2068${shown}\u2069` : shown
}
