import { randomBytes, randomFillSync } from 'node:crypto'

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * `acct_` + 26 characters: a UUIDv7 in lower-case Crockford base32. Newer ids sort after older ones, so an index grows at its
 * end, and ids made by one process in one millisecond sort in the order they were made. The 62 random bits make the next id
 * unguessable.
 */
export function newId(prefix: string, nowMs: number): string {
  const bytes = takeRandom(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | placeIn(nowMs, bytes.readUInt16BE(6) & 0x7ff), 6)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return `${prefix}_${base32(bytes)}`
}

/**
 * The twelve bits after the time: a random start in their lower half for every millisecond, then a counter. After two thousand
 * ids in one millisecond the counter stays at its maximum, and only the random bits differ.
 */
function placeIn(ms: number, start: number): number {
  place = ms === placeOf ? Math.min(place + 1, 0xfff) : start
  placeOf = ms
  return place
}
let place = 0
let placeOf = -1

/** When an id of `newId` was made; undefined for any other text. */
export function timeInId(id: string): number | undefined {
  const text = /^[a-z]+_([0-9a-hjkmnp-tv-z]{26})$/.exec(id)?.[1]
  if (text === undefined) return undefined
  // The first ten characters hold two bits of padding and 48 bits of time.
  return [...text.slice(0, 10)].reduce((all, letter) => all * 32 + CROCKFORD.indexOf(letter), 0)
}

/** The 128 bits of an id of `newId` as 32 hexadecimal digits; undefined for any other text. */
export function hexOfId(id: string): string | undefined {
  const start = id.length - ID_LETTERS
  if (start < 2 || id[start - 1] !== '_') return undefined
  let hex = ''
  let pending = 0
  // Of the first letter's five bits, two are in front of the 128.
  let pendingBits = -2
  for (let n = start; n < id.length; n += 1) {
    const value = CROCKFORD.indexOf(id.charAt(n))
    if (value < 0) return undefined
    pending = (pending << 5) | value
    pendingBits += 5
    while (pendingBits >= 4) {
      pendingBits -= 4
      hex += HEX[(pending >> pendingBits) & 15]
    }
    pending &= (1 << pendingBits) - 1
  }
  return hex
}
const ID_LETTERS = 26
const HEX = '0123456789abcdef'

/** Sorts before every id with this prefix made at this time or later, and after every older one. */
export function idFloor(prefix: string, ms: number): string {
  let text = ''
  for (let rest = Math.max(0, ms), n = 0; n < 10; n += 1) {
    text = CROCKFORD.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return `${prefix}_${text}`
}

/** Reading 16 bytes at a time from the kernel costs more than the rest of a request id. No byte is used twice. */
function takeRandom(size: number): Buffer {
  if (poolUsed + size > pool.length) {
    randomFillSync(pool)
    poolUsed = 0
  }
  poolUsed += size
  return Buffer.from(pool.subarray(poolUsed - size, poolUsed))
}
const pool = Buffer.alloc(4096)
let poolUsed = pool.length

/** Sorts before every id of `newId` that was made at this time or later, and after those made before. */
export function firstIdAt(prefix: string, ms: number): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(ms, 0, 6)
  return `${prefix}_${base32(bytes)}`
}

/** An id that does not reveal when it was made: 130 random bits, for ids that appear in every request. */
export function newOpaqueId(prefix: string): string {
  return `${prefix}_${base32(randomBytes(20)).slice(0, 26)}`
}

/** A secret in the form its owner sees once. 256 random bits; the HMAC key is the text itself. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

function base32(bytes: Uint8Array): string {
  let text = ''
  let pending = 0
  // 128 bits are not a multiple of 5: two zero bits in front make the text sort like the bytes.
  let pendingBits = (5 - ((bytes.length * 8) % 5)) % 5
  for (const byte of bytes) {
    pending = (pending << 8) | byte
    pendingBits += 8
    while (pendingBits >= 5) {
      pendingBits -= 5
      text += CROCKFORD[(pending >> pendingBits) & 31]
    }
    pending &= (1 << pendingBits) - 1
  }
  return text
}
