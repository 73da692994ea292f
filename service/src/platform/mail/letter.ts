import { dollars } from '../text/format.ts'
import { printable } from '../text/plain-text.ts'

/**
 * A mail as data, of which both of its forms are made: plain text, and HTML (letter-html.ts). It has plain words, at most one link, and
 * nothing that reports whether it was opened. Names and other texts of people go through `isolated`.
 *
 * A field that is added later is optional: letters that the previous version wrote may be waiting to be sent.
 */
export interface Letter {
  readonly subject: string
  /** What stands above all else: the amount that it is about, or its sentence. Without one, the subject. */
  readonly headline?: string | { readonly amount_cents: number; readonly says: string }
  readonly paragraphs?: readonly string[]
  readonly facts?: readonly Fact[]
  /** The only link, to a page of the dashboard. */
  readonly action?: { readonly says: string; readonly label: string; readonly url: string }
  /** Why it came, and what to do if it was not expected. */
  readonly footer?: readonly string[]
}

export type Fact = readonly [label: string, value: string]

/** An account's name in it may be long. */
const SUBJECT_LENGTH_MAX = 200
const ISOLATED = /\u2068([^\u2068\u2069]*)\u2069/

export function renderText(letter: Letter): string {
  const { paragraphs = [], facts = [], action, footer = [] } = letter
  const { amount, says } = headlineOf(letter)
  const blocks = [
    [amount === undefined ? says : `${amount} ${says}`],
    ...paragraphs.map((text) => [text]),
    facts.map(([label, value]) => `${label}: ${value}`),
    action ? [action.says, action.url] : [],
    footer,
  ]
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(oneLine).join('\n'))
    .join('\n\n')}\n`
}

/** One line, whatever the names in it are made of. */
export const subjectOf = ({ subject }: Letter): string =>
  [...oneLine(subject)].slice(0, SUBJECT_LENGTH_MAX).join('')

export function headlineOf({ subject, headline = subject }: Letter): {
  readonly amount?: string
  readonly says: string
} {
  if (typeof headline === 'string') return { says: headline }
  return { amount: dollars(headline.amount_cents), says: headline.says }
}

/** The text in its parts: our own words, and what `isolated` has set apart. No part has a control character or a line break. */
export const partsOf = (text: string): { readonly part: string; readonly isIsolated: boolean }[] =>
  text.split(ISOLATED).map((part, n) => ({ part: printable(part), isIsolated: n % 2 === 1 }))

const oneLine = (text: string): string =>
  partsOf(text)
    .map(({ part, isIsolated }) => (isIsolated ? `\u2068${part}\u2069` : part))
    .join('')
