import { randomBytes, randomFillSync } from 'node:crypto'

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * `acct_` + 26 characters: a UUIDv7 in lower-case Crockford base32. Newer ids sort after older ones, so an index grows at
 * its end, and two deeds of one process in one millisecond are listed in the order they were done. The 62 random bits
 * let nobody guess the next.
 */
export function newId(prefix: string, nowMs: number): string {
  const bytes = takeRandom(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | placeIn(nowMs, bytes.readUInt16BE(6) & 0x7ff), 6)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return `${prefix}_${base32(bytes)}`
}

/**
 * The twelve bits after the time: a random start in their lower half for every millisecond, then one more each time.
 * After two thousand in a millisecond they stay where they are, and only the random bits tell the ids apart.
 */
function placeIn(ms: number, start: number): number {
  place = ms === placeOf ? Math.min(place + 1, 0xfff) : start
  placeOf = ms
  return place
}
let place = 0
let placeOf = -1

/** When an id of `newId` was made; undefined for anything else. */
export function timeInId(id: string): number | undefined {
  const text = /^[a-z]+_([0-9a-hjkmnp-tv-z]{26})$/.exec(id)?.[1]
  if (text === undefined) return undefined
  // Two bits of padding and 48 of time are the first ten characters.
  return [...text.slice(0, 10)].reduce((all, letter) => all * 32 + CROCKFORD.indexOf(letter), 0)
}

/** Asking the kernel for 16 bytes at a time costs more than the rest of a request id. No byte is handed out twice. */
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

/** An id that says nothing about when it was made: 130 random bits, for names that appear in every request. */
export function newOpaqueId(prefix: string): string {
  return `${prefix}_${base32(randomBytes(20)).slice(0, 26)}`
}

/** A secret as it is shown to its owner, once. 256 random bits; the HMAC key is this very string. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

function base32(bytes: Uint8Array): string {
  let text = ''
  let pending = 0
  // 128 bits are not a multiple of 5: two zero bits in front keep the text in the order of the bytes.
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
