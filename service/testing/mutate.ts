/** A random sequence determined by its seed, so that a failure can be reproduced. */
export type Random = () => number

/** mulberry32: small, fast, and random enough to choose mutations. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const below = (random: Random, bound: number) => Math.floor(random() * bound)

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[below(random, values.length)] as Value
}

const CHANGES_MAX = 4
const RANGE_MAX = 40
const TELLING_BYTES = [
  0x00, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x25, 0x2c, 0x2d, 0x30, 0x3a, 0x5c, 0x7b, 0x7f, 0x80, 0xc0, 0xff,
]

type Change = (random: Random, bytes: Buffer, words: readonly string[]) => Buffer

const changes: readonly Change[] = [
  (random, bytes) => replace(bytes, below(random, bytes.length), 1, Buffer.from([below(random, 256)])),
  (random, bytes) =>
    replace(bytes, below(random, bytes.length), 1, Buffer.from([pick(random, TELLING_BYTES)])),
  (random, bytes) =>
    replace(bytes, below(random, bytes.length + 1), 0, Buffer.from([pick(random, TELLING_BYTES)])),
  (random, bytes) =>
    replace(bytes, below(random, bytes.length), 1 + below(random, RANGE_MAX), Buffer.alloc(0)),
  (random, bytes) => {
    const from = below(random, bytes.length)
    const range = bytes.subarray(from, from + 1 + below(random, RANGE_MAX))
    return replace(bytes, below(random, bytes.length + 1), 0, range)
  },
  (random, bytes, words) =>
    replace(bytes, below(random, bytes.length + 1), 0, Buffer.from(pick(random, words), 'latin1')),
  (random, bytes, words) =>
    replace(
      bytes,
      below(random, bytes.length),
      1 + below(random, 8),
      Buffer.from(pick(random, words), 'latin1'),
    ),
  (random, bytes) => bytes.subarray(0, below(random, bytes.length + 1)),
  (random, bytes) => shuffleLines(random, bytes),
  (random, bytes) => changeNumber(random, bytes),
]

/** Makes a few small changes: bytes, ranges, whole lines, numbers, and inserts of the given words. */
export function mutate(random: Random, original: Buffer, words: readonly string[]): Buffer {
  let bytes = original
  for (let n = 1 + below(random, CHANGES_MAX); n > 0; n -= 1)
    bytes = pick(random, changes)(random, bytes, words)
  return bytes
}

function replace(bytes: Buffer, at: number, length: number, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + length)])
}

/** One line removed, doubled or moved. */
function shuffleLines(random: Random, bytes: Buffer): Buffer {
  const lines = bytes.toString('latin1').split('\r\n')
  const [line = ''] = lines.splice(below(random, lines.length), 1)
  for (let n = below(random, 3); n > 0; n -= 1) lines.splice(below(random, lines.length + 1), 0, line)
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

function changeNumber(random: Random, bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const numbers = [...text.matchAll(/\d+/g)]
  if (numbers.length === 0) return bytes
  const { index, 0: digits } = pick(random, numbers)
  const value = Number(digits)
  const other = pick(random, [
    value + 1,
    value - 1,
    value * 10,
    -value,
    0,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    16_384,
    16_385,
  ])
  return replace(bytes, index, digits.length, Buffer.from(BigInt(Math.trunc(other)).toString()))
}
