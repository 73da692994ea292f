import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { RequestParts } from '../signing/request.ts'
import type { MistakeKind } from './kinds.ts'
import {
  ascii,
  asciiOnly,
  decode,
  encodeStrictly,
  halves,
  hexOf,
  html,
  parsed,
  type Style,
  unescaped,
  written,
} from './spellings.ts'

/** All inputs of a signature; each field is either right or one of its wrong variants. */
export interface Plan {
  readonly key: string | Buffer
  readonly method: string
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  readonly bodyHash: string
  readonly layout: (plan: Plan) => string
  /** Hex. */
  readonly mac: (key: string | Buffer, text: string) => string
}

export type Field = keyof Plan

/** One mistake: another value for one field of the plan. */
export interface Change {
  readonly kind: MistakeKind
  readonly field: Field
  readonly plan: Partial<Plan>
}

export interface Known extends RequestParts {
  readonly secret: string
  readonly keyId?: string | undefined
  readonly host?: string | undefined
}

export function rightPlan(known: Known): Plan {
  // One key signs thousands of texts, and creating the key object costs as much as one signature.
  const prepared = new Map<string | Buffer, KeyObject>()
  const keyOf = (key: string | Buffer) => {
    const found = prepared.get(key) ?? createSecretKey(Buffer.from(key))
    prepared.set(key, found)
    return found
  }
  return {
    key: known.secret,
    method: known.method.toUpperCase(),
    target: known.target,
    timestamp: known.timestamp,
    nonce: known.nonce,
    bodyHash: hexOf('sha256', known.body),
    layout: ({ method, target, timestamp, nonce, bodyHash }) =>
      `${method}\n${target}\n${timestamp}\n${nonce}\n${bodyHash}`,
    mac: (key, text) => createHmac('sha256', keyOf(key)).update(text).digest('hex'),
  }
}

/** By field, the likeliest first. Variants that have no effect on this request, or repeat another, are left out. */
export function changesOf(known: Known, right: Plan): Readonly<Record<Field, readonly Change[]>> {
  const body = Buffer.from(known.body)
  const changes = <F extends Field>(
    field: F,
    variants: Iterable<Variant<Plan[F]>>,
    sameAs: (value: Plan[F]) => string = String,
  ) => {
    const seen = new Set([sameAs(right[field])])
    return [...variants].flatMap(([kind, value]): Change[] => {
      const mark = sameAs(value)
      if (seen.has(mark)) return []
      seen.add(mark)
      return [{ kind, field, plan: { [field]: value } }]
    })
  }
  return {
    target: changes('target', targets(known)),
    bodyHash: changes('bodyHash', bodyHashes(known.secret, body)),
    key: changes('key', keys(known), (key) => Buffer.from(key).toString('hex')),
    layout: changes('layout', layouts(known.keyId, body), (layout) => layout(right)),
    method: changes('method', methods(right.method)),
    timestamp: changes('timestamp', timestamps(known.timestamp)),
    nonce: changes('nonce', nonces(known.nonce)),
    mac: changes('mac', macs(), (mac) => mac(right.key, right.method)),
  }
}

/** Signing Date.now() but sending whole seconds gives one of a thousand texts: too many to combine with other mistakes. */
export function* millisecondsOf(timestamp: string): Generator<Change> {
  if (!/^\d{10}$/.test(timestamp)) return
  for (let ms = 1; ms < 1000; ms++) {
    const text = timestamp + String(ms).padStart(3, '0')
    yield { kind: 'timestamp_milliseconds', field: 'timestamp', plan: { timestamp: text } }
  }
}

type Variant<V> = readonly [kind: MistakeKind, value: V]

type Line = 'method' | 'target' | 'timestamp' | 'nonce' | 'bodyHash'

const LINES: readonly Line[] = ['method', 'target', 'timestamp', 'nonce', 'bodyHash']

/** Four parameters have 24 orders; more would take too long, and five or more are usually sorted. */
const REORDERED_PARAMETERS_MAX = 4

function* targets({ target: raw, host }: Known): Generator<Variant<string>> {
  // Half a surrogate pair would make the encoders throw.
  const target = raw.toWellFormed()
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  const withQuery = (text: string) => `${path}?${text}`

  const bare = target.replace(/^\/v1(?=[/?]|$)/, '')
  yield ['path_without_version', bare]
  if (query !== '') yield ['query_dropped', path]
  if (query !== '') yield* queries(query, withQuery)
  yield ['path_version_twice', `/v1${target}`]
  for (const scheme of ['http://', 'https://', '']) if (host) yield ['path_full_url', scheme + host + target]
  if (path.endsWith('/')) yield ['path_trailing_slash_removed', path.slice(0, -1) + target.slice(path.length)]
  else yield ['path_trailing_slash_added', `${path}/${target.slice(path.length)}`]
  if (query !== '') {
    yield ['query_separated_wrongly', `${path}\n${query}`]
    yield ['query_separated_wrongly', path + query]
    yield ['query_separated_wrongly', `${path}&${query}`]
  }
  if (mark < 0) yield ['query_question_mark_added', `${target}?`]
  else if (query === '') yield ['query_question_mark_dropped', path]
  yield ['path_leading_slash_missing', target.slice(1)]
  yield ['path_leading_slash_missing', bare.slice(1)]
  const parent = /^(\/v1\/[^/?]+)\/[^/?]+$/.exec(path)?.[1]
  for (const id of parent === undefined ? [] : ['{id}', ':id', '%s', '']) {
    yield ['path_template', `${parent}/${id}`.replace(/\/$/, '')]
  }
}

function* queries(query: string, withQuery: (query: string) => string): Generator<Variant<string>> {
  const parameters = query.split('&')
  const decoded = decode(query)
  yield ['query_space_as_plus', withQuery(query.replaceAll('%20', '+'))]
  yield ['query_space_as_percent_20', withQuery(query.replaceAll('+', '%20'))]
  yield ['query_sorted', withQuery(parameters.toSorted().join('&'))]
  yield ['query_decoded', withQuery(decoded)]
  yield ['query_decoded', withQuery(decode(query.replaceAll('+', ' ')))]
  yield ['query_escape_case', withQuery(query.replace(/%[0-9a-f]{2}/gi, (one) => one.toUpperCase()))]
  yield ['query_escape_case', withQuery(query.replace(/%[0-9a-f]{2}/gi, (one) => one.toLowerCase()))]
  yield ['query_encoded_otherwise', withQuery(new URLSearchParams(query).toString())]
  for (const text of [query, query.replaceAll('+', ' ')]) {
    const pairs = text.split('&').map((one) => one.split('='))
    const spelled = (encode: (text: string) => string) =>
      withQuery(pairs.map((pair) => pair.map((part) => encode(decode(part))).join('=')).join('&'))
    yield ['query_encoded_otherwise', spelled(encodeURIComponent)]
    yield ['query_encoded_otherwise', spelled(encodeStrictly)]
    yield ['query_encoded_otherwise', spelled(encodeURI)]
  }
  yield ['query_encoded_again', withQuery(query.replaceAll('%', '%25'))]
  yield ['query_encoded_again', withQuery(encodeURIComponent(query))]
  yield ['query_empty_value', withQuery(parameters.map((one) => one.replace(/=$/, '')).join('&'))]
  yield [
    'query_empty_value',
    withQuery(parameters.map((one) => one + (one.includes('=') ? '' : '=')).join('&')),
  ]
  if (parameters.length > REORDERED_PARAMETERS_MAX)
    yield ['query_reordered', withQuery(parameters.toReversed().join('&'))]
  else for (const order of orders(parameters)) yield ['query_reordered', withQuery(order.join('&'))]
}

function* methods(method: string): Generator<Variant<string>> {
  yield ['method_lower_case', method.toLowerCase()]
  yield ['method_lower_case', method.slice(0, 1) + method.slice(1).toLowerCase()]
  for (const other of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) yield ['method_other', other]
}

function* timestamps(timestamp: string): Generator<Variant<string>> {
  if (!/^\d{10,13}$/.test(timestamp)) return
  const sentMs = timestamp.length === 13
  const seconds = sentMs ? Math.floor(Number(timestamp) / 1000) : Number(timestamp)
  if (sentMs) yield ['timestamp_seconds', String(seconds)]
  else yield ['timestamp_milliseconds', `${timestamp}000`]
  for (const more of [1, -1, 2, -2, 3, -3]) yield ['timestamp_read_twice', String(Number(timestamp) + more)]
  yield ['timestamp_fraction', `${seconds}.0`]
  const iso = new Date(seconds * 1000).toISOString()
  yield ['timestamp_iso', iso]
  yield ['timestamp_iso', iso.replace('.000', '')]
  yield ['timestamp_iso', iso.replace('.000Z', '+00:00')]
}

function* nonces(nonce: string): Generator<Variant<string>> {
  yield ['nonce_upper_case', nonce.toUpperCase()]
  if (nonce.length === 32) {
    const uuid = nonce.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    yield ['nonce_with_dashes', uuid]
    yield ['nonce_with_dashes', uuid.toUpperCase()]
  }
  const bytes = Buffer.from(nonce, 'hex')
  yield ['nonce_not_as_text', bytes.toString('base64')]
  yield ['nonce_not_as_text', bytes.toString('latin1')]
  yield ['nonce_not_as_text', bytes.toString('utf8')]
}

function* layouts(keyId: string | undefined, body: Buffer): Generator<Variant<Plan['layout']>> {
  const joined =
    (by: string, before = '', after = '') =>
    (plan: Plan) =>
      before + LINES.map((line) => plan[line]).join(by) + after
  const only = (lines: readonly Line[]) => (plan: Plan) => lines.map((line) => plan[line]).join('\n')
  const without = (...missing: Line[]) => only(LINES.filter((line) => !missing.includes(line)))
  const bodyText = body.toString('utf8')

  yield ['text_trailing_newline', joined('\n', '', '\n')]
  yield ['text_crlf', joined('\r\n')]
  yield ['text_without_separator', joined('')]
  yield ['lines_timestamp_and_nonce_swapped', only(['method', 'target', 'nonce', 'timestamp', 'bodyHash'])]
  yield ['line_body_hash_missing', without('bodyHash')]
  yield ['line_body_hash_empty', (plan) => `${without('bodyHash')(plan)}\n`]
  yield ['text_escaped_newline', joined('\\n')]
  yield ['line_nonce_missing', without('nonce')]
  yield ['text_crlf', joined('\r\n', '', '\r\n')]
  for (const by of ' :|.,;&-/_\t') yield ['text_other_separator', joined(by)]
  yield ['text_other_separator', joined('\r')]
  yield ['text_empty_line_between', joined('\n\n')]
  yield ['text_leading_newline', joined('\n', '\n')]
  yield ['line_method_missing', without('method')]
  yield ['line_path_missing', without('target')]
  yield ['line_timestamp_missing', without('timestamp')]
  yield ['scheme_of_webhooks', ({ timestamp, nonce }) => `${timestamp}.${nonce}.${bodyText}`]
  yield ['scheme_of_webhooks', ({ timestamp, nonce, bodyHash }) => `${timestamp}.${nonce}.${bodyHash}`]
  yield ['scheme_of_webhooks', ({ timestamp }) => `${timestamp}.${bodyText}`]
  yield ['scheme_body_only', () => bodyText]
  yield ['scheme_of_another_api', ({ timestamp, method, target }) => timestamp + method + target + bodyText]
  yield ['scheme_of_another_api', ({ timestamp, method, target }) => method + target + timestamp + bodyText]
  yield [
    'scheme_of_another_api',
    (plan) => plan.timestamp + plan.nonce + plan.method + plan.target + bodyText,
  ]
  yield [
    'scheme_of_another_api',
    (plan) => plan.method + plan.target + plan.timestamp + plan.nonce + bodyText,
  ]
  if (keyId !== undefined) {
    for (let place = 0; place <= LINES.length; place++) {
      yield [
        'line_key_id_added',
        (plan) =>
          LINES.map((line) => plan[line])
            .toSpliced(place, 0, keyId)
            .join('\n'),
      ]
    }
  }
  for (const order of orders(LINES)) yield ['lines_in_another_order', only(order)]
  for (const [place, one] of LINES.entries()) {
    for (const other of LINES.slice(place + 1)) yield ['lines_missing', without(one, other)]
  }
}

function* bodyHashes(secret: string, body: Buffer): Generator<Variant<string>> {
  const right = createHash('sha256').update(body).digest()
  const text = body.toString('utf8')

  for (const [kind, bytes] of bodies(body, text)) yield [kind, hexOf('sha256', bytes)]
  if (text !== '') yield ['body_itself', text]
  yield ['body_hash_upper_case', right.toString('hex').toUpperCase()]
  yield ['body_hash_base64', right.toString('base64')]
  yield ['body_hash_base64', right.toString('base64url')]
  if (text !== '') yield ['body_itself', body.toString('base64')]
  yield ['body_hash_base64', Buffer.from(right.toString('hex')).toString('base64')]
  for (const prefix of ['sha256=', 'sha256:', 'SHA256=', 'SHA-256=', 'sha-256=', '0x']) {
    yield ['body_hash_prefixed', prefix + right.toString('hex')]
  }
  for (const algorithm of ['md5', 'sha1', 'sha512', 'sha384', 'sha3-256']) {
    yield ['body_hash_other_algorithm', hexOf(algorithm, body)]
  }
  yield ['body_hash_keyed', createHmac('sha256', secret).update(body).digest('hex')]
  yield ['body_hash_twice', hexOf('sha256', right.toString('hex'))]
  yield ['body_hash_twice', hexOf('sha256', right)]
}

/** Texts that may have been hashed instead of the bytes that were sent. */
function* bodies(body: Buffer, text: string): Generator<Variant<string | Buffer>> {
  if (body.length === 0) {
    yield ['body_none_as_object', '{}']
    for (const word of ['null', 'undefined', 'None', 'nil', '[object Object]', 'false', 'true', '0']) {
      yield ['body_none_as_word', word]
    }
    for (const none of ['""', '[]', "''", ' ']) yield ['body_none_as_string', none]
    yield ['body_newline_added', '\n']
    yield ['body_newline_added', '\r\n']
    return
  }
  yield ['body_left_out', '']
  yield ['body_byte_order_mark', text.replace(/^\uFEFF/, '')]
  yield ['body_trimmed', text.trim()]
  if (body.includes(0)) yield ['body_cut_at_nul', body.subarray(0, body.indexOf(0))]
  const value = parsed(text)
  if (value !== undefined) yield* serialisations(text, value)
  yield ['body_newline_added', `${text}\n`]
  yield ['body_stringified_twice', JSON.stringify(text)]
  yield ['body_as_latin1', Buffer.from(text, 'latin1')]
  yield ['body_encoded_twice', body.toString('latin1')]
  yield ['body_newline_added', `${text}\r\n`]
  yield ['body_as_object_text', '[object Object]']
  yield ['body_as_object_text', 'Array']
  yield ['body_left_out', '{}']
  yield ['body_left_out', 'undefined']
  yield ['body_left_out', 'null']
  yield ['body_line_ends', text.replaceAll('\r\n', '\n')]
  yield ['body_line_ends', text.replace(/\r?\n/g, '\r\n')]
  yield ['body_line_ends', text.replace(/\r?\n/g, '')]
  yield ['body_byte_order_mark', `\uFEFF${text}`]
  yield ['body_as_utf16', Buffer.from(text, 'utf16le')]
  if (/[\ud800-\udfff]/.test(text)) yield ['body_surrogates', halves(text)]
  yield ['body_unicode_form', text.normalize('NFC')]
  yield ['body_unicode_form', text.normalize('NFD')]
}

function* serialisations(text: string, value: unknown): Generator<Variant<string>> {
  const compact = JSON.stringify(value)
  const onlyEscapesDiffer = asciiOnly(text) && !asciiOnly(compact) && unescaped(text) === compact
  yield [onlyEscapesDiffer ? 'body_non_ascii_unescaped' : 'body_reserialised', compact]
  const write = (style: Style) => written(value, style)
  yield ['body_python_separators', write({ comma: ', ', colon: ': ', spell: ascii })]
  yield ['body_python_separators', write({ comma: ', ', colon: ': ' })]
  yield ['body_keys_sorted', write({ sorted: true })]
  yield ['body_keys_sorted', write({ sorted: true, comma: ', ', colon: ': ', spell: ascii })]
  yield ['body_keys_sorted', write({ sorted: true, comma: ', ', colon: ': ' })]
  yield ['body_pretty_printed', JSON.stringify(value, null, 2)]
  yield ['body_pretty_printed', JSON.stringify(value, null, 4)]
  yield ['body_pretty_printed', JSON.stringify(value, null, '\t')]
  yield ['body_non_ascii_escaped', write({ spell: ascii })]
  yield ['body_slashes_escaped', write({ spell: (json) => ascii(json).replaceAll('/', '\\/') })]
  yield ['body_slashes_escaped', write({ spell: (json) => json.replaceAll('/', '\\/') })]
  yield ['body_html_escaped', write({ spell: html })]
  yield ['body_html_escaped', write({ spell: html, sorted: true })]
  yield ['body_newline_added', `${compact}\n`]
  if (typeof value === 'string') yield ['body_stringified_once_more_when_sent', value]
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const pairs = Object.entries(value)
    const form = (text: (one: unknown) => string) =>
      new URLSearchParams(Object.fromEntries(pairs.map(([name, one]) => [name, text(one)]))).toString()
    yield ['body_form_encoded', form((one) => (typeof one === 'string' ? one : JSON.stringify(one)))]
    yield ['body_form_encoded', form((one) => (typeof one === 'object' ? '[object Object]' : String(one)))]
  }
  yield [
    'body_as_object_text',
    write({ comma: ', ', colon: ': ', quote: "'", words: ['True', 'False', 'None'] }),
  ]
  yield ['body_as_object_text', write({ comma: ', ', colon: '=>', words: ['true', 'false', 'nil'] })]
  yield ['body_as_object_text', write({ comma: ', ', colon: ' => ', words: ['true', 'false', 'nil'] })]
  yield ['body_as_object_text', write({ comma: ', ', colon: '=', quote: '' })]
}

function* keys({ secret, keyId }: Known): Generator<Variant<string | Buffer>> {
  yield ['secret_trailing_newline', `${secret}\n`]
  const tail = secret.replace(/^[a-z]+_/, '')
  yield ['secret_without_prefix', tail]
  if (keyId !== undefined) yield ['secret_is_the_key_id', keyId]
  yield ['secret_base64_decoded', Buffer.from(tail, 'base64')]
  yield ['secret_base64_decoded', Buffer.from(secret, 'base64')]
  if (/^([0-9a-f]{2})+$/i.test(tail)) yield ['secret_hex_decoded', Buffer.from(tail, 'hex')]
  yield ['secret_in_quotes', `"${secret}"`]
  yield ['secret_hashed', hexOf('sha256', secret)]
  yield ['secret_in_quotes', `'${secret}'`]
  yield ['secret_missing', '']
  yield ['secret_missing', 'undefined']
  yield ['secret_with_spaces', `${secret} `]
  yield ['secret_with_spaces', ` ${secret}`]
  yield ['secret_trailing_newline', `${secret}\r\n`]
  yield ['secret_trailing_newline', `${secret}\r`]
  yield ['secret_missing', 'null']
  yield ['secret_missing', 'None']
  yield ['secret_hashed', createHash('sha256').update(secret).digest()]
  yield ['secret_encoded', Buffer.from(secret).toString('base64')]
  yield ['secret_encoded', Buffer.from(secret).toString('base64url')]
  yield ['secret_encoded', Buffer.from(secret).toString('hex')]
  for (const by of keyId === undefined ? [] : [':', '.', ''])
    yield ['secret_with_key_id', keyId + by + secret]
  yield ['secret_case', secret.toUpperCase()]
  yield ['secret_case', secret.toLowerCase()]
  yield ['secret_as_latin1', Buffer.from(secret, 'latin1')]
  yield ['secret_as_latin1', Buffer.from(secret, 'utf16le')]
  yield ['secret_with_spaces', secret.trim()]
}

function* macs(): Generator<Variant<Plan['mac']>> {
  const hmac = (algorithm: string, key: string | Buffer, text: string | Buffer) =>
    createHmac(algorithm, key).update(text)
  yield ['mac_without_key', (_key, text) => hexOf('sha256', text)]
  yield [
    'mac_secret_in_front',
    (key, text) => hexOf('sha256', Buffer.concat([Buffer.from(key), Buffer.from(text)])),
  ]
  yield ['mac_sha1', (key, text) => hmac('sha1', key, text).digest('hex')]
  yield ['mac_sha512', (key, text) => hmac('sha512', key, text).digest('hex')]
  yield ['mac_arguments_swapped', (key, text) => createHmac('sha256', text).update(key).digest('hex')]
  yield [
    'mac_secret_behind',
    (key, text) => hexOf('sha256', Buffer.concat([Buffer.from(text), Buffer.from(key)])),
  ]
  yield ['mac_sha512', (key, text) => hmac('sha512', key, text).digest('hex').slice(0, 64)]
  yield ['mac_sha512', (key, text) => hmac('sha384', key, text).digest('hex')]
  yield ['mac_md5', (key, text) => hmac('md5', key, text).digest('hex')]
  yield ['mac_of_hash', (key, text) => hmac('sha256', key, hexOf('sha256', text)).digest('hex')]
  yield [
    'mac_of_hash',
    (key, text) => hmac('sha256', key, createHash('sha256').update(text).digest()).digest('hex'),
  ]
  yield ['mac_hashed', (key, text) => hexOf('sha256', hmac('sha256', key, text).digest('hex'))]
  yield ['mac_hashed', (key, text) => hexOf('sha256', hmac('sha256', key, text).digest())]
  yield [
    'mac_hashed',
    (key, text) => hmac('sha256', key, hmac('sha256', key, text).digest('hex')).digest('hex'),
  ]
  for (const by of ['\n', ':']) {
    yield [
      'mac_secret_in_front',
      (key, text) => hexOf('sha256', Buffer.concat([Buffer.from(key), Buffer.from(by + text)])),
    ]
    yield [
      'mac_secret_behind',
      (key, text) => hexOf('sha256', Buffer.concat([Buffer.from(text + by), Buffer.from(key)])),
    ]
  }
}

function* orders<T>(items: readonly T[]): Generator<T[]> {
  if (items.length < 2) yield [...items]
  for (const [place, first] of items.length < 2 ? [] : items.entries()) {
    for (const rest of orders(items.toSpliced(place, 1))) yield [first, ...rest]
  }
}
