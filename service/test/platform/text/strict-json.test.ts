import { JSON_DEPTH_MAX } from '@shopwire/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonError, type JsonValue, parseStrictJson } from '../../../src/platform/text/strict-json.ts'

const parse = (text: string) => parseStrictJson(Buffer.from(text))

function complaint(bytes: string | Uint8Array): string {
  try {
    const value = parseStrictJson(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
    return `accepted: ${JSON.stringify(value)}`
  } catch (error) {
    if (error instanceof JsonError) return error.message
    throw error
  }
}

describe('threat 39: duplicate names in an object are refused', () => {
  test.each([
    ['{"qty":1,"qty":10}', 'qty'],
    ['{"qty":1,"qty":1}', 'qty'],
    ['{"a":{"b":1,"b":2}}', 'b'],
    ['[[{"b":1,"c":2,"b":2}]]', 'b'],
    ['{"qty":1,"\\u0071ty":10}', 'qty'],
    ['{"a/b":1,"a\\/b":10}', 'a/b'],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"é":1,"\\u00e9":2}', 'é'],
  ])('%s', (text, name) => {
    expect(complaint(text)).toContain(`${JSON.stringify(name)} appears twice`)
  })

  test('names that only look alike are different names', () => {
    expect(parse('{"é":1,"e\u0301":2,"E":3,"e":4}')).toEqual({ é: 1, 'e\u0301': 2, E: 3, e: 4 })
  })
})

describe('threat 40: no member name is special', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'])(
    '%s',
    (name) => {
      const value = parse(`{"${name}":{"polluted":1}}`) as Record<string, JsonValue>
      expect(Object.getPrototypeOf(value)).toBe(null)
      expect(Object.keys(value)).toEqual([name])
      expect(({} as Record<string, unknown>).polluted).toBe(undefined)
    },
  )
})

describe('threat 41: numbers are integers in plain form', () => {
  test.each(['0', '1', '-1', '10', '9007199254740991', '-9007199254740991'])('accepts %s', (token) => {
    expect(parse(token)).toBe(Number(token))
  })

  test.each([
    ['1.0', 1],
    ['10.000', 10],
    ['-1.0', -1],
    ['0.0', 0],
    ['9007199254740991.0', 9_007_199_254_740_991],
    [`7.${'0'.repeat(400)}`, 7],
  ])('reads %s as an integer', (token, value) => {
    expect(parse(token)).toBe(value)
  })

  test.each([
    '1e0',
    '1E0',
    '1e+0',
    '1.0e0',
    '1.5',
    '1.01',
    '1.0.0',
    '-0',
    '-0.0',
    '00.0',
    '9007199254740992.0',
    '0e1',
    '1E400',
    '-1E400',
    '10.0000000000000000001',
    '0.1',
    '00',
    '01',
    '-01',
    '1.',
    '9007199254740992',
    '9007199254740993',
    '12345678901234567890',
    '1'.repeat(400),
  ])('refuses %s and names it', (token) => {
    for (const text of [token, `[${token}]`, `{"qty":${token}}`, ` ${token} `]) {
      expect(complaint(text)).toMatch(/^-?\d[\d.eE+-]* is not a whole number in plain form/)
    }
  })

  test.each([
    '+1',
    '.5',
    '-',
    '--1',
    '1 2',
    '1_000',
    '0x10',
    '1n',
    'NaN',
    'Infinity',
    '-Infinity',
    '１',
    '1e',
    '1-',
    '1+1',
  ])('refuses %s', (text) => {
    expect(complaint(text)).toMatch(/not JSON|not a whole number/)
  })
})

describe('threat 43: text is valid UTF-8 that can be stored', () => {
  const quoted = (...bytes: number[]) => Buffer.from([0x22, ...bytes, 0x22])

  test.each([
    ['a lone continuation byte', quoted(0x80)],
    ['a cut sequence', quoted(0xe2, 0x82)],
    ['an overlong slash', quoted(0xc0, 0xaf)],
    ['an overlong NUL', quoted(0xc0, 0x80)],
    ['a surrogate in UTF-8', quoted(0xed, 0xa0, 0x80)],
    ['a pair of surrogates in UTF-8', quoted(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80)],
    ['beyond U+10FFFF', quoted(0xf4, 0x90, 0x80, 0x80)],
    ['0xFF', quoted(0xff)],
    ['Latin-1', Buffer.from('"é"', 'latin1')],
    ['UTF-16', Buffer.from('"a"', 'utf16le').subarray(0, 5)],
    ['after the value', Buffer.concat([Buffer.from('1'), Buffer.from([0xff])])],
  ])('refuses %s', (_what, bytes) => {
    expect(complaint(bytes)).toMatch(/not valid UTF-8|U\+0000|not JSON/)
  })

  test.each(['\ufeff1', '\ufeff', '\ufeff{}'])('refuses a byte order mark: %j', (text) => {
    expect(complaint(text)).toContain('byte order mark')
  })

  test.each([
    '"\\ud800"',
    '"\\udc00"',
    '"\\udc00\\ud800"',
    '"\\ud800x"',
    '"\\ud83d\\ud83d\\ude00"',
    '{"\\ud800":1}',
  ])('refuses a lone surrogate: %s', (text) => {
    expect(complaint(text)).toContain('surrogate')
  })

  test.each(['"\\u0000"', '"a\\u0000b"', '{"\\u0000":1}'])('refuses U+0000: %s', (text) => {
    expect(complaint(text)).toContain('U+0000')
  })

  test('refuses a raw NUL and other raw control characters', () => {
    for (let code = 0; code < 0x20; code += 1) {
      expect(complaint(`"${String.fromCharCode(code)}"`)).toContain('control characters')
    }
  })

  test('accepts all other text', () => {
    for (const text of ['\u007f', '\u0080', '\u2028', '\uffff', '\ufeff', '😀', '\u{10ffff}']) {
      expect(parse(JSON.stringify(text))).toBe(text)
    }
    expect(parse('"\\ud83d\\ude00\\n\\/\\u00e9"')).toBe('😀\n/é')
  })
})

describe('threat 44: nesting depth', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test(`accepts ${JSON_DEPTH_MAX} levels`, () => {
    expect(JSON.stringify(parse(nested(JSON_DEPTH_MAX)))).toBe(nested(JSON_DEPTH_MAX))
    expect(parse(`${'{"a":'.repeat(JSON_DEPTH_MAX)}1${'}'.repeat(JSON_DEPTH_MAX)}`)).toBeDefined()
  })

  test.each([
    nested(JSON_DEPTH_MAX + 1),
    nested(8_191),
    '['.repeat(16_384),
    '{"a":'.repeat(3_000),
    `${'[{"a":'.repeat(5)}1${'}]'.repeat(5)}`,
  ])('refuses more levels, closed or not', (text) => {
    expect(complaint(text)).toContain(`more than ${JSON_DEPTH_MAX} levels`)
  })

  test('counts depth, not brackets', () => {
    expect(parse(`[${Array(1_000).fill('[]').join()}]`)).toHaveLength(1_000)
  })
})

describe('text that is not JSON is refused with its position', () => {
  test.each([
    '',
    ' ',
    '{',
    '[',
    '"',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{,}',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{a:1}',
    "{'a':1}",
    '{"a" 1}',
    '{1:1}',
    '{} {}',
    '1,',
    'tru',
    'True',
    'nul',
    'undefined',
    '// x\n1',
    '/* x */1',
    '1//x',
    '"\\x41"',
    '"\\u00g0"',
    '"\\u00',
    '"\\',
    '"\\u{41}"',
    ']',
    '}',
    ':',
    '\u00a01',
    '\u20281',
    '\v1',
    '`a`',
  ])('%j', (text) => {
    expect(complaint(text)).toMatch(/^The body is not JSON: expected .+ at character \d+\.$/)
  })
})

describe('properties', () => {
  const RUNS = process.env.SHOPWIRE_LONG ? 100_000 : 5_000
  const seed = 20_260_731

  const words = fc
    .string({ unit: 'binary', maxLength: 8 })
    .filter((text) => text.isWellFormed() && !text.includes('\0'))
  const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', maxDepth: JSON_DEPTH_MAX - 1 },
      fc.constantFrom(null, true, false),
      fc.maxSafeInteger().map((n) => n + 0),
      words,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(words, tie('value'), { maxKeys: 4, noNullPrototype: false }),
    ),
  })).value

  test('an allowed value is read back unchanged, whatever its white space and escapes', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, 4, '\t', '\r\n '), (given, indent) => {
        const plain = JSON.stringify(given, null, indent)
        const escaped = plain.replace(
          /[^\x20-\x7e\n\r\t]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
        for (const text of [plain, escaped, ` ${plain}\n`]) {
          expect(JSON.stringify(parse(text))).toBe(JSON.stringify(given))
        }
      }),
      { numRuns: RUNS, seed },
    )
  })

  /** Near-JSON made of the tokens that matter, as a careless or malicious sender produces it. */
  const nearJson = fc
    .array(
      fc.constantFrom(
        ...[
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          ' ',
          '\n',
          '"a"',
          '"b"',
          '"__proto__"',
          '""',
          '"\\u0061"',
          '"\\ud800"',
          '"\\u0000"',
        ],
        ...[
          '0',
          '1',
          '-',
          '-0',
          '1.0',
          '1.5',
          '1e5',
          '01',
          '9007199254740993',
          'true',
          'false',
          'null',
          'nul',
          '\ufeff',
          '"',
          '\\',
          '/',
        ],
      ),
      { maxLength: 12 },
    )
    .map((tokens) => tokens.join(''))
  const anyBytes = fc.oneof(
    nearJson.map((text) => Buffer.from(text)),
    fc.string({ unit: 'binary', maxLength: 12 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)),
  )

  test('what it accepts JSON.parse reads the same, what JSON.parse rejects it rejects, and it throws nothing else', () => {
    let accepted = 0
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        let strict: JsonValue
        try {
          strict = parseStrictJson(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError)
          return
        }
        accepted += 1
        expect(JSON.stringify(strict)).toBe(JSON.stringify(JSON.parse(bytes.toString('utf8'))))
      }),
      { numRuns: RUNS * 2, seed },
    )
    // Otherwise the test above would compare nothing.
    expect(accepted).toBeGreaterThan(RUNS / 10)
  })
})
