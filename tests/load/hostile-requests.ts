import { type Key, sign, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { http2Bytes, type RawHeaders } from './raw-http2.ts'

/** A message that two parsers may end at different places, and that has a whole signed request after or inside that place. */
export interface HostileRequest {
  readonly what: string
  readonly bytes: Buffer
}

/** The corpus of threat 28. Nobody else calls the route of the smuggled request. */
export function hostileRequests(key: Key): HostileRequest[] {
  const smuggled = () => sign(key, 'DELETE', '/v1/webhook').bytes.toString('latin1')
  const message = (lines: string, body: string, start = 'POST /v1/quote HTTP/1.1\r\n') => {
    const signature = Object.entries(signedHeaders(key, 'POST', '/v1/quote', CART))
    const signed = signature.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return Buffer.from(`${start}Host: api.example.com\r\n${signed}${lines}\r\n${body}`, 'latin1')
  }
  /** By its length the message has all that follows; by its chunks it ends before the smuggled request. */
  const endsByChunks = (lines: string) => {
    const body = `0\r\n\r\n${smuggled()}`
    return message(`Content-Length: ${body.length}\r\n${lines}`, body)
  }
  /** By its chunks the smuggled request is content; by its length it is the next request. */
  const endsByLength = (lines: string) => {
    const hidden = smuggled()
    const size = `${hidden.length.toString(16)}\r\n`
    return message(`${lines}Content-Length: ${size.length}\r\n`, `${size}${hidden}\r\n0\r\n\r\n`)
  }
  /** By its chunks it ends before the beginning of a request, whose rest is what the next caller sends. */
  const swallowsTheNext = (lines: string) => {
    const body = '0\r\n\r\nGET /v1/nothing HTTP/1.1\r\nX-Rest: '
    return message(`Content-Length: ${body.length}\r\n${lines}`, body)
  }
  const chunks = (body: string) => message('Transfer-Encoding: chunked\r\n', `${body}${smuggled()}`)
  const lengths = (lines: string) => message(lines, `${CART}${smuggled()}`)
  const started = (start: string) => message(`Content-Length: ${CART.length}\r\n`, CART + smuggled(), start)
  const all = (kind: string, make: (text: string) => Buffer, texts: readonly string[]) =>
    texts.map((text) => ({ what: `${kind}: ${JSON.stringify(text)}`, bytes: make(text) }))
  return [
    ...all('ends by chunks', endsByChunks, TRANSFER_ENCODINGS),
    ...all('ends by length', endsByLength, TRANSFER_ENCODINGS),
    ...all('swallows the next', swallowsTheNext, TRANSFER_ENCODINGS),
    ...all('lengths', lengths, LENGTHS),
    ...all('chunks', chunks, CHUNKS),
    ...all('request line', started, REQUEST_LINES),
    ...all('hop by hop', lengths, HOP_BY_HOP),
  ]
}

const CART = '{"items":[{"id":"12345678901234567"}]}'
const N = CART.length
const HEX = N.toString(16)

const TRANSFER_ENCODINGS = [
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: CHUNKED\r\n',
  'Transfer-Encoding:chunked\r\n',
  'Transfer-Encoding:\tchunked\r\n',
  'Transfer-Encoding: \x0bchunked\r\n',
  'Transfer-Encoding: chunked\x0b\r\n',
  'Transfer-Encoding : chunked\r\n',
  ' Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding: chunked;x\r\n',
  'Transfer-Encoding: "chunked"\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding: identity, chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding: chunked, chunked\r\n',
  'Transfer-Encoding: ,chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding:\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding:\r\n chunked\r\n',
  'X-Odd: a\r\n Transfer-Encoding: chunked\r\n',
  'X-Odd: a\nTransfer-Encoding: chunked\r\n',
  'X-Odd: a\rTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked\n',
  'Transfer-Encoding: chunked\0\r\n',
  'Transfer-\0Encoding: chunked\r\n',
  'Transfer_Encoding: chunked\r\n',
  'Transfer\x80Encoding: chunked\r\n',
]

const LENGTHS = [
  `Content-Length: ${N}\r\nContent-Length: ${N}\r\n`,
  `Content-Length: ${N}\r\nContent-Length: 900\r\n`,
  `Content-Length: 900\r\nContent-Length: ${N}\r\n`,
  `Content-Length: ${N}, ${N}\r\n`,
  `Content-Length: ${N}, 900\r\n`,
  `Content-Length: +${N}\r\n`,
  `Content-Length: -${N}\r\n`,
  `Content-Length: 0x${HEX}\r\n`,
  `Content-Length: ${N} 0\r\n`,
  `Content-Length: ${N}\0\r\n`,
  `Content-Length: ${N}\r\n 0\r\n`,
  `Content-Length:\r\n ${N}\r\n`,
  `Content-Length : ${N}\r\n`,
  `Content_Length: ${N}\r\n`,
  `Content-Length: ${N}\nContent-Length: 900\r\n`,
  `X-Odd: a\rContent-Length: ${N}\r\n`,
  'Content-Length: 18446744073709551654\r\n',
  'Content-Length: 4294967334\r\n',
  'Content-Length:\r\n',
]

const CHUNKS = [
  `${HEX};a=b\n${CART}\r\n0\r\n\r\n`,
  `${HEX};a="\r\n0\r\n\r\n"\r\n${CART}\r\n0\r\n\r\n`,
  `${HEX};a=\0\r\n${CART}\r\n0\r\n\r\n`,
  `${HEX};${'x'.repeat(20_000)}\r\n${CART}\r\n0\r\n\r\n`,
  `${HEX}\n${CART}\r\n0\r\n\r\n`,
  `${HEX}\r${CART}\r\n0\r\n\r\n`,
  `${HEX}\r\n${CART}\n0\r\n\r\n`,
  `${HEX}\r\n${CART}\r\n0\n\n`,
  `0x${HEX}\r\n${CART}\r\n0\r\n\r\n`,
  `+${HEX}\r\n${CART}\r\n0\r\n\r\n`,
  `-1\r\n${CART}\r\n0\r\n\r\n`,
  `${HEX} \r\n${CART}\r\n0\r\n\r\n`,
  ` ${HEX}\r\n${CART}\r\n0\r\n\r\n`,
  `100000000000000${HEX}\r\n${CART}\r\n0\r\n\r\n`,
  `20\r\n${CART}\r\n0\r\n\r\n`,
  `\r\n${CART}\r\n0\r\n\r\n`,
  `${HEX}\r\n${CART}\r\n0\r\nContent-Length: 900\r\n\r\n`,
  `${HEX}\r\n${CART}\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n`,
  `${HEX}\r\n${CART}\r\n0\r\nX-Api-Key: another\r\nX-Api-Signature: another\r\n\r\n`,
  `${HEX}\r\n${CART}\r\n0\r\nX-Odd: a\n\n`,
]

const REQUEST_LINES = [
  'POST /v1/quote HTTP/1.1\n',
  'POST /v1/quote HTTP/1.1\r',
  'POST  /v1/quote HTTP/1.1\r\n',
  'POST /v1/quote  HTTP/1.1\r\n',
  'POST /v1/quote\r\n',
  'POST /v1/quote HTTP/1.0\r\n',
  'POST /v1/quote HTTP/1.9\r\n',
  'POST /v1/quote HTTP/2.0\r\n',
  'POST /v1/quote HTTP/1.1\0\r\n',
  'POST /v1/quote\0 HTTP/1.1\r\n',
  'POST /v1/quote\x0bX HTTP/1.1\r\n',
  '\r\nPOST /v1/quote HTTP/1.1\r\n',
  '\nPOST /v1/quote HTTP/1.1\r\n',
  'GET /v1/ping HTTP/1.1\r\n',
  'HEAD /v1/ping HTTP/1.1\r\n',
  'CONNECT api.example.com:443 HTTP/1.1\r\n',
  'POST http://elsewhere.example/v1/quote HTTP/1.1\r\n',
  'POST /v1/quote HTTP/1.1\r\nHost: elsewhere.example\r\n',
]

const HOP_BY_HOP = [
  `Connection: Content-Length\r\nContent-Length: ${N}\r\n`,
  `Connection: X-Forwarded-For, X-Api-Key\r\nContent-Length: ${N}\r\n`,
  `Connection: keep-alive, Transfer-Encoding\r\nContent-Length: ${N}\r\n`,
  `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: ${N}\r\n`,
  `Expect: 100-continue\r\nContent-Length: ${N}\r\n`,
  `Expect: 100-continue\r\nContent-Length: ${N}\r\nTransfer-Encoding: chunked\r\n`,
]

export const HARMLESS = 'x-harmless'

/** What a proxy must not turn into a message of HTTP/1.1 that ends elsewhere. */
export function hostileHttp2Requests(key: Key): HostileRequest[] {
  const smuggled = sign(key, 'DELETE', '/v1/webhook').bytes.toString('latin1')
  const first = (changed: Readonly<Record<string, string>>): RawHeaders => {
    const usual = {
      ':method': 'POST',
      ':scheme': 'https',
      ':path': '/v1/quote',
      ':authority': 'api.example.com',
    }
    return Object.entries({ ...usual, ...changed })
  }
  const signature = Object.entries(signedHeaders(key, 'POST', '/v1/quote', CART)).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  )
  const inHeaders = (name: string, value: string) => ({
    what: `HTTP/2 header ${JSON.stringify([name, value.slice(0, 40)])}`,
    bytes: http2Bytes([...first({}), ...signature, [name, value]], CART + smuggled),
  })
  const inPseudo = (name: string, value: string) => ({
    what: `HTTP/2 ${name} ${JSON.stringify(value.slice(0, 40))}`,
    bytes: http2Bytes([...first({ [name]: value }), ...signature], CART),
  })
  const split = `\r\n\r\n${smuggled}`
  return [
    // Harmless: it shows that these bytes reach the API at all.
    inHeaders(HARMLESS, 'a'),
    inHeaders('transfer-encoding', 'chunked'),
    inHeaders('content-length', '0'),
    inHeaders('content-length', String(N)),
    inHeaders('content-length', '100000'),
    inHeaders('content-length', `+${N}`),
    inHeaders('connection', 'transfer-encoding'),
    inHeaders('upgrade', 'h2c'),
    inHeaders('te', 'chunked'),
    inHeaders('Transfer-Encoding', 'chunked'),
    inHeaders('x-odd', `a\r\nTransfer-Encoding: chunked`),
    inHeaders('x-odd', `a\nContent-Length: 0`),
    inHeaders('x-odd', `a${split}`),
    inHeaders('x-odd', 'a\0b'),
    inHeaders(`x-odd: a\r\nTransfer-Encoding`, 'chunked'),
    inHeaders('x-odd ', 'a'),
    inHeaders('x:odd', 'a'),
    inHeaders('', 'a'),
    inHeaders('host', 'elsewhere.example'),
    inPseudo(':path', `/v1/quote HTTP/1.1\r\nHost: a${split}`),
    inPseudo(':path', '/v1/quote HTTP/1.1'),
    inPseudo(':path', `/v1/quote\nX: a`),
    inPseudo(':path', ''),
    inPseudo(':path', '*'),
    inPseudo(':method', `POST /v1/status HTTP/1.1\r\nHost: a${split}POST`),
    inPseudo(':method', 'POST /v1/ping'),
    inPseudo(':authority', `a${split}`),
    inPseudo(':authority', 'a b'),
    inPseudo(':scheme', `https${split}`),
    inPseudo(':odd', 'a'),
  ]
}
