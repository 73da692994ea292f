import { JSON_DEPTH_MAX } from '@shopwire/contract'

/** Numbers are integers; objects have no prototype, so no member name is special. */
export type JsonValue<Num = number> =
  | null
  | boolean
  | Num
  | string
  | JsonValue<Num>[]
  | { [name: string]: JsonValue<Num> }

/** A number as it was written, for callers that must not lose digits: a double cannot hold 12345678901234567890. */
export class NumberToken {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

export class JsonError extends Error {
  override readonly name = 'JsonError'
}

/**
 * Parses JSON so that no two parsers can disagree about it: UTF-8 without a byte order mark, no duplicate names in an object,
 * integers only, no lone surrogates or NUL, a bounded depth. `JSON.parse` keeps the last of two equal names and rounds long ids.
 * 1.0 is read as 1, because some languages write every number like that.
 */
export function parseStrictJson(bytes: Uint8Array): JsonValue {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new JsonError('The body is not valid UTF-8.')
  }
  if (text.charCodeAt(0) === BYTE_ORDER_MARK)
    throw new JsonError('The body begins with a byte order mark; leave it out.')
  const reader = new Reader(text, 'body', wholeNumber)
  const value = reader.value(1)
  reader.end()
  return value
}

/**
 * Yields the elements of a file that is one long array, or an object with only that array under `member`, so that a file of a
 * million elements is never held as a million objects. As strict as above; numbers stay as written.
 */
export function* readStrictJsonList(text: string, member: string): Generator<JsonValue<NumberToken>> {
  const reader = new Reader(text, 'file', (source) => new NumberToken(source))
  const isWrapped = reader.skipIf('{')
  if (isWrapped) reader.expectMember(member)
  yield* reader.elements(isWrapped ? 2 : 1)
  if (isWrapped) reader.expect('}')
  reader.end()
}

function wholeNumber(token: string): number {
  const value = Number(token)
  if (WHOLE_NUMBER.test(token) && Number.isSafeInteger(value)) return value
  const what = `${token.slice(0, 40)} is not a whole number in plain form`
  throw new JsonError(
    /^-?[1-9]\d{15,}$/.test(token)
      ? `${what}: it has too many digits. An id is written in quotes.`
      : `${what}, such as 12: leave out fractions, exponents and leading zeros.`,
  )
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const BYTE_ORDER_MARK = 0xfeff
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
const NUMBER = /-?\d[\d.eE+-]*/y
const WHOLE_NUMBER = /^(0|-?[1-9]\d*)(\.0+)?$/

class Reader<Num> {
  readonly #text: string
  /** For error messages. */
  readonly #what: 'body' | 'file'
  readonly #readNumber: (token: string) => Num
  #at = 0

  constructor(text: string, what: 'body' | 'file', readNumber: (token: string) => Num) {
    this.#text = text
    this.#what = what
    this.#readNumber = readNumber
  }

  value(depth: number): JsonValue<Num> {
    this.#space()
    const char = this.#text[this.#at]
    if (char === '{') return this.#object(depth)
    if (char === '[') return [...this.elements(depth)]
    if (char === '"') return this.#string()
    if (char === 't') return this.#word('true', true)
    if (char === 'f') return this.#word('false', false)
    if (char === 'n') return this.#word('null', null)
    return this.#number()
  }

  *elements(depth: number): Generator<JsonValue<Num>> {
    this.#deeper(depth)
    this.expect('[')
    this.#space()
    if (this.#take(']')) return
    do {
      yield this.value(depth + 1)
      this.#space()
    } while (this.#take(','))
    if (!this.#take(']')) throw this.#wrong('"," or "]"')
  }

  expectMember(name: string) {
    this.#space()
    if (this.#text[this.#at] !== '"' || this.#string() !== name) throw this.#wrong(`the name "${name}"`)
    this.expect(':')
  }

  expect(char: string) {
    if (!this.skipIf(char)) throw this.#wrong(`"${char}"`)
  }

  skipIf(char: string): boolean {
    this.#space()
    return this.#take(char)
  }

  end() {
    this.#space()
    if (this.#at < this.#text.length) throw this.#wrong('one JSON value and nothing after it')
  }

  #object(depth: number): JsonValue<Num> {
    this.#deeper(depth)
    const object: { [name: string]: JsonValue<Num> } = Object.create(null)
    this.#at += 1
    this.#space()
    if (this.#take('}')) return object
    do {
      this.#space()
      if (this.#text[this.#at] !== '"') throw this.#wrong('a name in double quotes')
      const name = this.#string()
      if (name in object) throw new JsonError(`The name ${quote(name)} appears twice in one object.`)
      this.#space()
      if (!this.#take(':')) throw this.#wrong('":"')
      object[name] = this.value(depth + 1)
      this.#space()
    } while (this.#take(','))
    if (!this.#take('}')) throw this.#wrong('"," or "}"')
    return object
  }

  #string(): string {
    let result = ''
    let from = ++this.#at
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === QUOTE) break
      if (code === BACKSLASH) {
        result += this.#text.slice(from, this.#at) + this.#escape()
        from = this.#at
      } else if (code < 0x20 || Number.isNaN(code)) {
        throw this.#wrong('a string that ends, without raw control characters')
      } else {
        this.#at += 1
      }
    }
    result += this.#text.slice(from, this.#at)
    this.#at += 1
    if (!result.isWellFormed()) throw new JsonError('A string holds half of a surrogate pair.')
    if (result.includes('\0')) throw new JsonError('A string holds the character U+0000.')
    return result
  }

  #escape(): string {
    const char = this.#text[this.#at + 1] ?? ''
    if (char === 'u') {
      const digits = this.#text.slice(this.#at + 2, this.#at + 6)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#wrong('four hexadecimal digits after \\u')
      this.#at += 6
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const meant = Object.hasOwn(ESCAPES, char) ? ESCAPES[char] : undefined
    if (meant === undefined) throw this.#wrong('a known escape')
    this.#at += 2
    return meant
  }

  #number(): Num {
    NUMBER.lastIndex = this.#at
    const token = NUMBER.exec(this.#text)?.[0]
    if (token === undefined) throw this.#wrong('a JSON value')
    const value = this.#readNumber(token)
    this.#at += token.length
    return value
  }

  #word<Meant>(word: string, meant: Meant): Meant {
    if (!this.#text.startsWith(word, this.#at)) throw this.#wrong('a JSON value')
    this.#at += word.length
    return meant
  }

  #space() {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at += 1
    }
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at += 1
    return true
  }

  #deeper(depth: number) {
    if (depth > JSON_DEPTH_MAX)
      throw new JsonError(`The ${this.#what} is nested more than ${JSON_DEPTH_MAX} levels deep.`)
  }

  #wrong(expected: string): JsonError {
    const place =
      this.#what === 'body'
        ? `character ${this.#at + 1}`
        : `line ${this.#text.slice(0, this.#at).split('\n').length}, character ${this.#at - this.#text.lastIndexOf('\n', this.#at - 1)}`
    return new JsonError(`The ${this.#what} is not JSON: expected ${expected} at ${place}.`)
  }
}

function quote(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
