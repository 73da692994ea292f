/** Headers as they are put on the wire, without any check; names of pseudo headers begin with a colon. */
export type RawHeaders = readonly (readonly [name: string, value: string])[]

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const [DATA, HEADERS, SETTINGS] = [0, 1, 4]
const [END_STREAM, END_HEADERS] = [1, 4]

/** One request as the bytes of an HTTP/2 connection: what no client library would send. */
export function http2Bytes(headers: RawHeaders, body: string): Buffer {
  const block = Buffer.concat(headers.map(([name, value]) => literal(name, value)))
  return Buffer.concat([
    PREFACE,
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(HEADERS, END_HEADERS | (body === '' ? END_STREAM : 0), 1, block),
    ...(body === '' ? [] : [frame(DATA, END_STREAM, 1, Buffer.from(body, 'latin1'))]),
  ])
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** RFC 7541, 6.2.2: a literal without indexing, both strings as they are. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  return Buffer.concat([Buffer.from(length(bytes.length)), bytes])
}

/** An integer with a prefix of seven bits. */
function length(value: number): number[] {
  if (value < 127) return [value]
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}
