import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MISTAKES, matchMistake, type SignatureAttempt } from '../src/signature-mistakes/index.ts'
import { signRequest } from '../src/signing/index.ts'

// The wrong signers below are written by hand, as a caller would write them, and share no code with the matcher.

type Sent = Omit<SignatureAttempt, 'signature'>
type Signer = (sent: Sent) => string

const ORDER = '{"items":[{"id":"123456789012345678","qty":2}],"idempotency_key":"order/0001"}'
const order: Sent = {
  secret: 'sws_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA',
  keyId: 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y',
  host: 'localhost:4010',
  method: 'POST',
  target: '/v1/orders',
  timestamp: '1794700000',
  nonce: '00112233445566778899aabbccddeeff',
  body: Buffer.from(ORDER),
}
const read: Sent = {
  ...order,
  method: 'GET',
  target: '/v1/catalogue?search=red%20hat&limit=5',
  body: new Uint8Array(),
}
const ping: Sent = { ...read, target: '/v1/ping' }
const posted = (text: string): Sent => ({ ...order, body: Buffer.from(text) })

const sha = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex')
const lines = ({ method, target, timestamp, nonce, body }: Sent) => [
  method,
  target,
  timestamp,
  nonce,
  sha(body),
]

/** Signs correctly except for the given parts. */
const but =
  (wrong: (sent: Sent) => Partial<Sent>): Signer =>
  (sent) =>
    hmac(sent.secret, lines({ ...sent, ...wrong(sent) }).join('\n'))
const target = (of: (target: string) => string): Signer => but((sent) => ({ target: of(sent.target) }))
const bodyText = (of: (text: string) => string | Uint8Array): Signer =>
  but(({ body }) => ({ body: Buffer.from(of(Buffer.from(body).toString())) }))
const hashLine =
  (of: (body: Uint8Array, secret: string) => string): Signer =>
  (sent) =>
    hmac(sent.secret, [...lines(sent).slice(0, 4), of(sent.body, sent.secret)].join('\n'))
const text =
  (of: (lines: string[], sent: Sent) => string): Signer =>
  (sent) =>
    hmac(sent.secret, of(lines(sent), sent))
const key =
  (of: (secret: string, keyId: string) => string | Uint8Array): Signer =>
  (sent) =>
    hmac(of(sent.secret, sent.keyId ?? ''), lines(sent).join('\n'))
const spelled =
  (of: (mac: Buffer) => string): Signer =>
  (sent) =>
    of(createHmac('sha256', sent.secret).update(lines(sent).join('\n')).digest())
const mac =
  (of: (secret: string, text: string) => string): Signer =>
  (sent) =>
    of(sent.secret, lines(sent).join('\n'))

const CASES: readonly (readonly [name: string, sent: Sent, signer: Signer])[] = [
  ['path_without_version', order, but(() => ({ target: '/orders' }))],
  ['path_without_version', read, but(() => ({ target: '/catalogue?search=red%20hat&limit=5' }))],
  ['path_version_twice', order, but(() => ({ target: '/v1/v1/orders' }))],
  ['path_full_url', order, but(() => ({ target: 'http://localhost:4010/v1/orders' }))],
  ['path_full_url', order, but(() => ({ target: 'https://localhost:4010/v1/orders' }))],
  ['path_full_url', order, but(() => ({ target: 'localhost:4010/v1/orders' }))],
  ['path_leading_slash_missing', order, but(() => ({ target: 'v1/orders' }))],
  ['path_leading_slash_missing', order, but(() => ({ target: 'orders' }))],
  ['path_trailing_slash_added', order, but(() => ({ target: '/v1/orders/' }))],
  ['path_trailing_slash_added', read, but(() => ({ target: '/v1/catalogue/?search=red%20hat&limit=5' }))],
  ['path_trailing_slash_removed', { ...order, target: '/v1/orders/' }, but(() => ({ target: '/v1/orders' }))],
  ['path_template', { ...ping, target: '/v1/orders/ord_1' }, but(() => ({ target: '/v1/orders/{id}' }))],
  ['path_template', { ...ping, target: '/v1/orders/ord_1' }, but(() => ({ target: '/v1/orders/:id' }))],
  ['query_dropped', read, but(() => ({ target: '/v1/catalogue' }))],
  ['query_question_mark_added', ping, but(() => ({ target: '/v1/ping?' }))],
  ['query_question_mark_dropped', { ...ping, target: '/v1/ping?' }, but(() => ({ target: '/v1/ping' }))],
  ['query_separated_wrongly', read, but(() => ({ target: '/v1/catalogue\nsearch=red%20hat&limit=5' }))],
  ['query_sorted', read, but(() => ({ target: '/v1/catalogue?limit=5&search=red%20hat' }))],
  [
    'query_reordered',
    { ...ping, target: '/v1/catalogue?a=1&b=2&c=3' },
    but(() => ({ target: '/v1/catalogue?c=3&a=1&b=2' })),
  ],
  ['query_decoded', read, but(() => ({ target: '/v1/catalogue?search=red hat&limit=5' }))],
  ['query_decoded', { ...ping, target: '/v1/catalogue?search=caf%C3%A9' }, target(decodeURIComponent)],
  ['query_encoded_again', read, but(() => ({ target: '/v1/catalogue?search=red%2520hat&limit=5' }))],
  ['query_space_as_plus', read, but(() => ({ target: '/v1/catalogue?search=red+hat&limit=5' }))],
  [
    'query_space_as_percent_20',
    { ...ping, target: '/v1/catalogue?search=red+hat' },
    but(() => ({ target: '/v1/catalogue?search=red%20hat' })),
  ],
  [
    'query_encoded_otherwise',
    { ...ping, target: "/v1/catalogue?search=it's" },
    but(() => ({ target: '/v1/catalogue?search=it%27s' })),
  ],
  [
    'query_escape_case',
    { ...ping, target: '/v1/catalogue?search=%c3%a9' },
    but(() => ({ target: '/v1/catalogue?search=%C3%A9' })),
  ],
  [
    'query_empty_value',
    { ...ping, target: '/v1/catalogue?search=' },
    but(() => ({ target: '/v1/catalogue?search' })),
  ],
  ['method_lower_case', order, but(() => ({ method: 'post' }))],
  ['method_other', order, but(() => ({ method: 'GET' }))],
  ['timestamp_milliseconds', order, but(() => ({ timestamp: '1794700000000' }))],
  ['timestamp_milliseconds', order, but(() => ({ timestamp: '1794700000734' }))],
  ['timestamp_seconds', { ...order, timestamp: '1794700000734' }, but(() => ({ timestamp: '1794700000' }))],
  ['timestamp_fraction', order, but(() => ({ timestamp: '1794700000.0' }))],
  ['timestamp_iso', order, but(() => ({ timestamp: '2026-11-14T23:46:40.000Z' }))],
  ['timestamp_iso', order, but(() => ({ timestamp: '2026-11-14T23:46:40Z' }))],
  ['timestamp_read_twice', order, but(() => ({ timestamp: '1794699999' }))],
  ['nonce_upper_case', order, but(({ nonce }) => ({ nonce: nonce.toUpperCase() }))],
  ['nonce_with_dashes', order, but(() => ({ nonce: '00112233-4455-6677-8899-aabbccddeeff' }))],
  ['nonce_not_as_text', order, but(({ nonce }) => ({ nonce: Buffer.from(nonce, 'hex').toString('base64') }))],
  ['text_trailing_newline', order, text((all) => `${all.join('\n')}\n`)],
  ['text_leading_newline', order, text((all) => `\n${all.join('\n')}`)],
  ['text_crlf', order, text((all) => all.join('\r\n'))],
  ['text_crlf', order, text((all) => all.map((line) => `${line}\r\n`).join(''))],
  ['text_escaped_newline', order, text((all) => all.join(String.raw`\n`))],
  ['text_empty_line_between', order, text((all) => all.join('\n\n'))],
  ['text_without_separator', order, text((all) => all.join(''))],
  ['text_other_separator', order, text((all) => all.join(' '))],
  ['text_other_separator', order, text((all) => all.join(':'))],
  ['text_other_separator', order, text((all) => all.join('|'))],
  ['text_other_separator', order, text((all) => all.join('.'))],
  ['lines_timestamp_and_nonce_swapped', order, text(([m, p, t, n, h]) => [m, p, n, t, h].join('\n'))],
  ['lines_in_another_order', order, text(([m, p, t, n, h]) => [t, n, m, p, h].join('\n'))],
  ['lines_in_another_order', order, text(([m, p, t, n, h]) => [h, n, t, p, m].join('\n'))],
  ['line_method_missing', order, text((all) => all.slice(1).join('\n'))],
  ['line_path_missing', order, text(([m, , t, n, h]) => [m, t, n, h].join('\n'))],
  ['line_timestamp_missing', order, text(([m, p, , n, h]) => [m, p, n, h].join('\n'))],
  ['line_nonce_missing', order, text(([m, p, t, , h]) => [m, p, t, h].join('\n'))],
  ['line_body_hash_missing', ping, text((all) => all.slice(0, 4).join('\n'))],
  ['line_body_hash_empty', ping, text((all) => `${all.slice(0, 4).join('\n')}\n`)],
  ['lines_missing', order, text(([m, p, , , h]) => [m, p, h].join('\n'))],
  ['line_key_id_added', order, text((all, sent) => [sent.keyId, ...all].join('\n'))],
  ['scheme_of_webhooks', order, text((_, { timestamp, nonce }) => `${timestamp}.${nonce}.${ORDER}`)],
  ['scheme_of_webhooks', order, text((_, { timestamp }) => `${timestamp}.${ORDER}`)],
  ['scheme_body_only', order, text(() => ORDER)],
  ['scheme_of_another_api', order, text((_, sent) => `${sent.timestamp}POST/v1/orders${ORDER}`)],
  ['body_hash_upper_case', order, hashLine((body) => sha(body).toUpperCase())],
  ['body_hash_base64', order, hashLine((body) => createHash('sha256').update(body).digest('base64'))],
  ['body_hash_prefixed', order, hashLine((body) => `sha256=${sha(body)}`)],
  ['body_hash_other_algorithm', order, hashLine((body) => createHash('md5').update(body).digest('hex'))],
  ['body_hash_keyed', order, hashLine((body, secret) => hmac(secret, Buffer.from(body).toString()))],
  ['body_hash_twice', order, hashLine((body) => sha(sha(body)))],
  ['body_itself', order, hashLine((body) => Buffer.from(body).toString())],
  ['body_left_out', order, but(() => ({ body: new Uint8Array() }))],
  ['body_left_out', posted('{}'), but(() => ({ body: new Uint8Array() }))],
  ['body_none_as_object', ping, but(() => ({ body: Buffer.from('{}') }))],
  ['body_none_as_word', ping, but(() => ({ body: Buffer.from('null') }))],
  ['body_none_as_word', ping, but(() => ({ body: Buffer.from('undefined') }))],
  ['body_none_as_string', ping, but(() => ({ body: Buffer.from('""') }))],
  ['body_reserialised', posted('{"url": null}'), but(() => ({ body: Buffer.from('{"url":null}') }))],
  ['body_python_separators', posted('{"a":1,"b":[1,2]}'), bodyText(() => '{"a": 1, "b": [1, 2]}')],
  ['body_python_separators', posted('{"a":"é","b":2}'), bodyText(() => '{"a": "\\u00e9", "b": 2}')],
  ['body_keys_sorted', posted('{"b":1,"a":{"d":1,"c":2}}'), bodyText(() => '{"a":{"c":2,"d":1},"b":1}')],
  ['body_keys_sorted', posted('{"b":1,"a":2}'), bodyText(() => '{"a": 2, "b": 1}')],
  ['body_pretty_printed', order, bodyText((body) => JSON.stringify(JSON.parse(body), null, 2))],
  ['body_pretty_printed', order, bodyText((body) => JSON.stringify(JSON.parse(body), null, '\t'))],
  ['body_slashes_escaped', order, bodyText((body) => body.replace('/', '\\/'))],
  ['body_slashes_escaped', posted('{"a":"é/"}'), bodyText(() => '{"a":"\\u00e9\\/"}')],
  ['body_non_ascii_escaped', posted('{"a":"é🎁"}'), bodyText(() => '{"a":"\\u00e9\\ud83c\\udf81"}')],
  ['body_non_ascii_unescaped', posted('{"a":"\\u00e9"}'), bodyText(() => '{"a":"é"}')],
  ['body_html_escaped', posted('{"a":"<b>&"}'), bodyText(() => '{"a":"\\u003cb\\u003e\\u0026"}')],
  ['body_stringified_twice', order, bodyText((body) => JSON.stringify(body))],
  ['body_stringified_once_more_when_sent', posted(JSON.stringify(ORDER)), bodyText(() => ORDER)],
  ['body_as_object_text', order, bodyText(() => String({}))],
  [
    'body_as_object_text',
    posted('{"a":"x","b":[true,null]}'),
    bodyText(() => "{'a': 'x', 'b': [True, None]}"),
  ],
  ['body_form_encoded', posted('{"a":"x y","b":1}'), bodyText(() => 'a=x+y&b=1')],
  ['body_newline_added', order, bodyText((body) => `${body}\n`)],
  ['body_trimmed', posted(`${ORDER}\n`), bodyText(() => ORDER)],
  ['body_line_ends', posted('{\r\n"a":1\r\n}'), bodyText(() => '{\n"a":1\n}')],
  ['body_line_ends', posted('{\n"a":1\n}'), bodyText(() => '{\r\n"a":1\r\n}')],
  ['body_byte_order_mark', posted(`\uFEFF${ORDER}`), bodyText(() => ORDER)],
  ['body_byte_order_mark', order, bodyText(() => `\uFEFF${ORDER}`)],
  ['body_cut_at_nul', posted('{}\0{}'), bodyText(() => '{}')],
  ['body_as_latin1', posted('{"a":"é"}'), bodyText((body) => Buffer.from(body, 'latin1'))],
  ['body_encoded_twice', posted('{"a":"é"}'), bodyText(() => '{"a":"Ã©"}')],
  ['body_as_utf16', order, bodyText((body) => Buffer.from(body, 'utf16le'))],
  [
    'body_surrogates',
    posted('{"a":"🎁"}'),
    but(() => ({ body: Buffer.from('7b2261223a22eda0bcedbe81227d', 'hex') })),
  ],
  ['body_unicode_form', posted('{"a":"e\u0301"}'), bodyText(() => '{"a":"\u00e9"}')],
  ['secret_trailing_newline', order, key((secret) => `${secret}\n`)],
  ['secret_trailing_newline', order, key((secret) => `${secret}\r\n`)],
  ['secret_with_spaces', order, key((secret) => ` ${secret}`)],
  ['secret_in_quotes', order, key((secret) => `"${secret}"`)],
  ['secret_in_quotes', order, key((secret) => `'${secret}'`)],
  ['secret_without_prefix', order, key(() => 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA')],
  ['secret_hex_decoded', { ...order, secret: 'ab'.repeat(32) }, key(() => Buffer.alloc(32, 0xab))],
  ['secret_hex_decoded', { ...order, secret: `sws_${'ab'.repeat(32)}` }, key(() => Buffer.alloc(32, 0xab))],
  ['secret_base64_decoded', order, key((secret) => Buffer.from(secret.slice(4), 'base64url'))],
  ['secret_encoded', order, key((secret) => btoa(secret))],
  ['secret_is_the_key_id', order, key((_, keyId) => keyId)],
  ['secret_with_key_id', order, key((secret, keyId) => `${keyId}:${secret}`)],
  ['secret_hashed', order, key((secret) => sha(secret))],
  ['secret_hashed', order, key((secret) => createHash('sha256').update(secret).digest())],
  ['secret_missing', order, key(() => '')],
  ['secret_missing', order, key(() => 'undefined')],
  ['secret_case', order, key((secret) => secret.toLowerCase())],
  ['secret_as_latin1', { ...order, secret: 'clé' }, key(() => Buffer.from('636ce9', 'hex'))],
  ['signature_upper_case', order, spelled((bytes) => bytes.toString('hex').toUpperCase())],
  ['signature_base64', order, spelled((bytes) => bytes.toString('base64'))],
  ['signature_base64url', order, spelled((bytes) => bytes.toString('base64url'))],
  ['signature_base64_of_hex', order, spelled((bytes) => btoa(bytes.toString('hex')))],
  ['signature_prefixed', order, spelled((bytes) => `sha256=${bytes.toString('hex')}`)],
  ['signature_prefixed', order, spelled((bytes) => `0x${bytes.toString('hex')}`)],
  ['signature_prefixed', order, spelled((bytes) => `HMAC ${bytes.toString('hex')}`)],
  ['signature_wrapped', order, spelled((bytes) => `"${bytes.toString('hex')}"`)],
  ['signature_twice', order, spelled((bytes) => `${bytes.toString('hex')}, ${bytes.toString('hex')}`)],
  ['signature_cut', order, spelled((bytes) => bytes.toString('hex').slice(0, 63))],
  ['signature_cut', order, spelled((bytes) => bytes.toString('hex').slice(0, 32))],
  ['mac_sha1', order, mac((secret, all) => createHmac('sha1', secret).update(all).digest('hex'))],
  ['mac_sha512', order, mac((secret, all) => createHmac('sha512', secret).update(all).digest('hex'))],
  [
    'mac_sha512',
    order,
    mac((secret, all) => createHmac('sha512', secret).update(all).digest('hex').slice(0, 64)),
  ],
  ['mac_md5', order, mac((secret, all) => createHmac('md5', secret).update(all).digest('hex'))],
  ['mac_without_key', order, mac((_, all) => sha(all))],
  ['mac_secret_in_front', order, mac((secret, all) => sha(secret + all))],
  ['mac_secret_behind', order, mac((secret, all) => sha(all + secret))],
  ['mac_arguments_swapped', order, mac((secret, all) => hmac(all, secret))],
  ['mac_of_hash', order, mac((secret, all) => hmac(secret, sha(all)))],
  ['mac_hashed', order, mac((secret, all) => sha(hmac(secret, all)))],

  // Two or three at once.
  [
    'path_without_version+body_python_separators',
    order,
    but(() => ({ target: '/orders', body: Buffer.from(pythonOrder()) })),
  ],
  [
    'path_without_version+secret_trailing_newline',
    order,
    (sent) => hmac(`${sent.secret}\n`, lines({ ...sent, target: '/orders' }).join('\n')),
  ],
  [
    'query_dropped+text_trailing_newline',
    read,
    (sent) => hmac(sent.secret, `${lines({ ...sent, target: '/v1/catalogue' }).join('\n')}\n`),
  ],
  ['body_none_as_object+method_lower_case', ping, but(() => ({ method: 'get', body: Buffer.from('{}') }))],
  [
    'path_without_version+signature_base64',
    order,
    (sent) =>
      createHmac('sha256', sent.secret)
        .update(lines({ ...sent, target: '/orders' }).join('\n'))
        .digest('base64'),
  ],
  [
    'path_without_version+body_python_separators+secret_without_prefix',
    order,
    (sent) =>
      hmac(
        sent.secret.slice(4),
        lines({ ...sent, target: '/orders', body: Buffer.from(pythonOrder()) }).join('\n'),
      ),
  ],
]

function pythonOrder(): string {
  return '{"items": [{"id": "123456789012345678", "qty": 2}], "idempotency_key": "order/0001"}'
}

describe('finds the mistake behind a wrong signature', () => {
  test.each(CASES)('%s', (name, sent, signer) => {
    const found = matchMistake({ ...sent, signature: signer(sent) })
    expect(found?.name).toBe(name)
    expect(found?.title.length).toBeGreaterThan(10)
    expect(found?.fix).toMatch(/\.$/)
  })

  test('returns the text that was signed instead', () => {
    const signature = hmac(order.secret, 'POST\r\n/v1/orders\r\n1794700000')
    expect(matchMistake({ ...order, signature })).toBeNull()
    const crlf = lines(order).join('\r\n')
    expect(matchMistake({ ...order, signature: hmac(order.secret, crlf) })?.signed).toBe(crlf)
    const upper = spelled((bytes) => bytes.toString('hex').toUpperCase())(order)
    expect(matchMistake({ ...order, signature: upper })?.signed).toBe(lines(order).join('\n'))
  })

  test('every kind of mistake is made by one of the signers above', () => {
    const made = new Set(CASES.map(([name]) => name))
    expect(MISTAKES.filter(({ name }) => !made.has(name))).toEqual([])
    expect(MISTAKES.length).toBeGreaterThanOrEqual(100)
  })

  test('finds the mistakes of the refused vectors, except the listed ones that cannot be guessed', () => {
    const { cases } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../vectors/request-signing.json'), 'utf8'),
    ) as { cases: (Record<string, string> & Sent & { valid: boolean; presented: string })[] }
    const unnamed = cases.filter((one) => {
      const body = Buffer.from(
        one.body_hex ?? one.body_utf8 ?? '',
        one.body_hex === undefined ? 'utf8' : 'hex',
      )
      const known = { keyId: 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y', host: 'shop.example' }
      const found = matchMistake({ ...one, ...known, body, signature: one.presented })
      if (one.valid) expect(found, one.name).toBeNull()
      return !one.valid && found === null
    })
    expect(unnamed.map(({ name }) => name)).toEqual([
      'nonce-made-twice',
      'body-swapped-after-signing',
      'signature-empty',
      'signature-first-digit-changed',
      'signature-last-digit-changed',
      'secret-of-another-key',
    ])
  })
})

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const sentRequests: fc.Arbitrary<Sent> = fc.record({
  secret: fc.stringMatching(/^sws_[A-Za-z0-9_-]{43}$/),
  keyId: fc.stringMatching(/^key_c1_[0-9a-hjkmnp-tv-z]{26}$/),
  host: fc.constantFrom('localhost:4010', 'shop.example'),
  method: fc.constantFrom('GET', 'POST', 'DELETE'),
  target: fc.webPath({ size: 'small' }).map((path) => `/v1/x${path}`),
  timestamp: fc.integer({ min: 1_000_000_000, max: 9_999_999_999 }).map(String),
  nonce: hex(32),
  body: fc.oneof(
    fc.constant(new Uint8Array()),
    fc.uint8Array({ maxLength: 100 }),
    fc.json().map((text) => Buffer.from(text)),
  ),
})
/** Trying three thousand wrong texts takes time. */
const few = { numRuns: 40 }

describe('for any request', () => {
  test('returns null for a right signature', () => {
    fc.assert(
      fc.property(sentRequests, (sent) => {
        expect(matchMistake({ ...sent, signature: signRequest(sent.secret, sent) })).toBeNull()
      }),
    )
  })

  test('returns null for a random signature', { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(sentRequests, hex(64), (sent, signature) => {
        expect(matchMistake({ ...sent, signature })).toBeNull()
      }),
      few,
    )
  })

  test('never throws, whatever is presented', { timeout: 30_000 }, () => {
    const anything = fc.string({ unit: 'binary', maxLength: 400 })
    const odd = fc.record({
      ...{ secret: anything, method: anything, target: anything, timestamp: anything, nonce: anything },
      ...{
        body: fc.uint8Array({ maxLength: 100 }),
        signature: fc.oneof(anything, hex(64), fc.base64String()),
      },
    })
    fc.assert(
      fc.property(odd, (attempt) => {
        expect(matchMistake(attempt)).toBeNull()
      }),
      few,
    )
    const nested = Buffer.from('['.repeat(8000) + ']'.repeat(8000))
    expect(matchMistake({ ...order, body: nested, signature: '0'.repeat(64) })).toBeNull()
    // String() of such an object throws.
    const hostile = Buffer.from('{"a":{"toString":"","__proto__":1}}')
    expect(matchMistake({ ...order, body: hostile, signature: '0'.repeat(64) })).toBeNull()
    expect(matchMistake({ ...order, signature: ', '.repeat(8000) })).toBeNull()
  })

  /** Kinds that no other kind can be mistaken for, whatever the body and the query. */
  const UNMISTAKABLE = [
    'path_without_version',
    'text_trailing_newline',
    'text_crlf',
    'text_without_separator',
  ]
    .concat(['lines_timestamp_and_nonce_swapped', 'line_nonce_missing', 'timestamp_read_twice'])
    .concat(['secret_trailing_newline', 'secret_hashed', 'mac_sha1', 'mac_without_key', 'mac_of_hash'])
    .concat(['signature_base64', 'signature_upper_case'])
  const distinct = CASES.filter(
    ([name], place) => UNMISTAKABLE.includes(name) && CASES.findIndex((one) => one[0] === name) === place,
  )
  test.each(distinct)('%s is named', { timeout: 30_000 }, (name, _, signer) => {
    const generic = name === 'path_without_version' ? target((path) => path.slice(3)) : signer
    const timed =
      name === 'timestamp_read_twice'
        ? but(({ timestamp }) => ({ timestamp: String(Number(timestamp) - 1) }))
        : generic
    fc.assert(
      fc.property(sentRequests, (sent) => {
        fc.pre(sent.timestamp !== '1000000000')
        expect(matchMistake({ ...sent, signature: timed(sent) })?.name).toBe(name)
      }),
      few,
    )
  })

  test('recognises a body that was serialised again, wherever it differs', { timeout: 30_000 }, () => {
    const writers: readonly (readonly [RegExp, (value: unknown) => string])[] = [
      [/^body_/, (value) => JSON.stringify(value)],
      [/^body_/, (value) => JSON.stringify(value, null, 4)],
      [/^body_/, (value) => `${JSON.stringify(value)}\n`],
    ]
    fc.assert(
      fc.property(
        sentRequests,
        fc.object({ maxDepth: 2 }),
        fc.constantFrom(...writers),
        (sent, value, [form, write]) => {
          const plain = JSON.parse(JSON.stringify(value)) as unknown
          const body = Buffer.from(JSON.stringify(plain, null, 1))
          const signed = Buffer.from(write(plain))
          fc.pre(!signed.equals(body))
          const signature = signRequest(sent.secret, { ...sent, body: signed })
          expect(matchMistake({ ...sent, body, signature })?.name).toMatch(form)
        },
      ),
      few,
    )
  })
})
