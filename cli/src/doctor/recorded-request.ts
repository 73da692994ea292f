import { UsageError } from '../trouble.ts'

/** A saved request. */
export interface RecordedRequest {
  readonly method: string
  readonly target: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined when the recording has no body, as with `curl -v`. */
  readonly body: Uint8Array | undefined
}

/** A raw HTTP/1.1 request, or what `curl -v` prints. */
export function parseRequest(bytes: Uint8Array): RecordedRequest {
  const text = Buffer.from(bytes).toString('latin1')
  const curl = text.split(/\r?\n/).filter((line) => line.startsWith('>'))
  if (curl.length > 0) {
    const { start, headers } = parseHead(curl.map((line) => line.slice(1).trim()))
    return { ...start, headers, body: undefined }
  }
  const end = /\r?\n\r?\n/.exec(text)
  const head = end ? text.slice(0, end.index) : text
  const { start, headers } = parseHead(head.split(/\r?\n/))
  const rest = end ? bytes.subarray(end.index + end[0].length) : new Uint8Array()
  const length = headers['content-length']
  // An editor may add a line break at the end of the file; Content-Length tells how long the body was.
  const isLonger = length !== undefined && /^\d+$/.test(length) && Number(length) < rest.byteLength
  return { ...start, headers, body: isLonger ? rest.subarray(0, Number(length)) : rest }
}

function parseHead(lines: readonly string[]) {
  const at = lines.findIndex((line) => /^[A-Z]+ \S+ HTTP\//.test(line))
  const [method = '', target = ''] = (lines[at] ?? '').split(' ')
  if (at === -1) {
    throw new UsageError(
      'The file has no request line.',
      'It must begin like `GET /v1/ping HTTP/1.1`, followed by the headers; the output of `curl -v` works too.',
    )
  }
  const headers = lines.slice(at + 1).flatMap((line) => {
    const [, name, value] = /^([\w-]+):[ \t]?(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name.toLowerCase(), value ?? '']]
  })
  return { start: { method, target }, headers: Object.fromEntries(headers) as Record<string, string> }
}
