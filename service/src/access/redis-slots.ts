/** Redis Cluster distributes keys over this many slots, by CRC16 of the part in braces. */
export const SLOT_COUNT = 16_384

/** The slot of a key with this hash tag. */
export function slotOf(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag)) crc = ((crc << 8) ^ (CRC16[((crc >> 8) ^ byte) & 0xff] ?? 0)) & 0xffff
  return crc % SLOT_COUNT
}

/** For every slot a short tag that hashes to it, to name one key per slot. Computed once, in a few milliseconds. */
export function tagsBySlot(): string[] {
  const tags = new Array<string>(SLOT_COUNT)
  for (let n = 0, found = 0; found < SLOT_COUNT; n += 1) {
    const tag = n.toString(36)
    const slot = slotOf(tag)
    if (tags[slot] === undefined) {
      tags[slot] = tag
      found += 1
    }
  }
  return tags
}

const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc & 0xffff
})
