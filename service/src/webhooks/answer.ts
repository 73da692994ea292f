import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import type { Sent } from '../platform/outbound/guarded-client.ts'

/** The start of a receiver's answer, as the account's people see it. */
export interface AnswerExcerpt {
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
  readonly isCut: boolean
}

export interface AttemptKey {
  readonly account_id: string
  readonly event_id: string
  readonly endpoint_id: string
  readonly round: number
  readonly n: number
}

/** Enough to tell which server refused and why. */
const HEADERS_KEPT = [
  'content-type',
  'content-length',
  'retry-after',
  'location',
  'allow',
  'server',
  'via',
  'x-request-id',
  'cf-ray',
] as const
const HEADER_LENGTH_MAX = 120
const TEXT_LENGTH_MAX = 500
const REMOVED = '[removed]'

/**
 * A receiver may repeat what it was sent, which contains gift links. This removes the order's links in every common spelling, any
 * other URL, and long runs of letters and digits, which may be an encoded link or a signature.
 */
export function excerptOf({ headers, start }: NonNullable<Sent['answer']>, body: string): AnswerExcerpt {
  const without = removerFor(linksIn(body))
  const kept = HEADERS_KEPT.flatMap((name) => {
    const value = headers[name]
    if (value === undefined) return []
    return [[name, without(readable(String(value))).slice(0, HEADER_LENGTH_MAX)] as const]
  })
  const text = without(readable(isText(headers) ? start.toString('utf8') : ''))
  return { headers: kept, text: text.slice(0, TEXT_LENGTH_MAX), isCut: text.length > TEXT_LENGTH_MAX }
}

export async function sealAnswer(keyring: Keyring, key: AttemptKey, excerpt: AnswerExcerpt) {
  const { bytes, kek_id } = await keyring.seal(JSON.stringify(excerpt), answerBinding(key))
  return { answer_sealed: bytes, answer_kek_id: kek_id }
}

export async function openAnswer(
  keyring: Keyring,
  key: AttemptKey,
  answer_sealed: Uint8Array,
): Promise<AnswerExcerpt> {
  return JSON.parse(await keyring.open(answer_sealed, answerBinding(key)))
}

/** For re-encryption. */
export const deliveryAnswers: SealedColumn = {
  table: 'delivery_attempts',
  keys: ['event_id', 'endpoint_id', 'round', 'n', 'account_id'],
  column: 'answer',
  bindingOf: (row) => answerBinding(row as unknown as AttemptKey),
}

function answerBinding({ account_id, event_id, endpoint_id, round, n }: AttemptKey): RowBinding {
  return {
    column: 'delivery_attempts.answer',
    account_id,
    row_id: `${event_id} ${endpoint_id} ${round} ${n}`,
  }
}

/** The links in the body of an event. */
export function linksIn(body: string): readonly string[] {
  const { data } = JSON.parse(body) as { data?: { order?: { links?: readonly string[] } } }
  return data?.order?.links ?? []
}

const ANY_URL = /[a-z][a-z0-9+.-]*:\\?\/\\?\/[^\s"'<>]+/gi
const LONG_RUN = /[A-Za-z0-9+/=_%-]{40,}/g

function removerFor(links: readonly string[]): (text: string) => string {
  const spellings = links
    .flatMap(spellingsOf)
    // The longest first, so that a part of a link is not removed from the middle of it.
    .sort((one, other) => other.length - one.length)
  return (text) =>
    spellings
      .reduce((all, spelling) => all.replaceAll(spelling, REMOVED), text.replace(ANY_URL, REMOVED))
      .replace(LONG_RUN, REMOVED)
}

const TOKEN_LENGTH_MIN = 6

/** A link, and the parts of it that would be enough to use it. */
function spellingsOf(link: string): string[] {
  const bare = link.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
  const parts = bare.split(/[/?#&=]/).slice(1)
  return [link, bare, ...parts]
    .flatMap((text) => [text, encodeURIComponent(text), text.replaceAll('/', '\\/')])
    .filter((text) => text.length >= TOKEN_LENGTH_MIN)
}

function isText(headers: NonNullable<Sent['answer']>['headers']): boolean {
  const encoding = String(headers['content-encoding'] ?? 'identity')
  return encoding === 'identity'
}

/** Without control and format characters other than the line's end, and without letters that were cut in half. */
function readable(text: string): string {
  return text.replace(/[^\P{C}\n\t]|\ufffd/gu, '')
}
