import { ITEM_ID_LENGTH_MAX } from '@shopwire/contract'
import type { ItemRow } from './queries.ts'

const ITEMS_MAX = 8_192

/** Length of the substrings of names that a block indexes, each as one bit of a Bloom filter. */
const PIECE_LENGTH = 5
const PIECE_BITS = 18

interface Names {
  readonly text: string
  readonly starts: Uint32Array
  readonly pieces: Uint32Array
}

/**
 * A run of adjacent items in numeric order, with their names in one text, so that a search is one scan instead of thousands. The
 * filter lets most blocks be skipped: a name that contains the wanted text has set the bits of all substrings of that text.
 */
export class ItemBlock {
  readonly items: ItemRow[]
  #names: Names | undefined

  constructor(items: ItemRow[]) {
    this.items = items
  }

  get firstId(): string {
    return (this.items[0] as ItemRow).id
  }

  get isFull(): boolean {
    return this.items.length >= ITEMS_MAX
  }

  isBefore(id: string): boolean {
    return comesBefore((this.items.at(-1) as ItemRow).id, id)
  }

  /** Adds the item or replaces the one with its id. */
  put(item: ItemRow): void {
    this.#names = undefined
    if (this.isBefore(item.id)) {
      this.items.push(item)
      return
    }
    const at = this.#placeOf(item.id)
    const isKnown = this.items[at]?.id === item.id
    this.items.splice(at, isKnown ? 1 : 0, item)
  }

  /** When the block is full, moves its upper half into a new block and returns that. */
  splitIfFull(): ItemBlock | undefined {
    if (this.items.length <= ITEMS_MAX) return undefined
    return new ItemBlock(this.items.splice(this.items.length >> 1))
  }

  /** Items whose name contains the folded text, in order. */
  named(part: string): readonly ItemRow[] {
    if (part === '') return this.items
    const { text, starts, pieces } = this.index()
    const found: ItemRow[] = []
    if (!hasPieces(pieces, part)) return found
    let place = 0
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, starts[place + 1])) {
      place = startBefore(starts, at, place)
      found.push(this.items[place] as ItemRow)
    }
    return found
  }

  /** The search index, built at first use. */
  index(): Names {
    if (!this.#names) {
      const names = this.items.map(({ name }) => fold(name))
      const starts = new Uint32Array(names.length + 1)
      for (const [n, name] of names.entries()) starts[n + 1] = (starts[n] as number) + name.length + 1
      const text = names.join(BETWEEN_NAMES)
      this.#names = { text, starts, pieces: piecesOf(text) }
    }
    return this.#names
  }

  #placeOf(id: string): number {
    let low = 0
    let high = this.items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (comesBefore((this.items[middle] as ItemRow).id, id)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Occurs in no name and no query, so that nothing matches across two names. */
const BETWEEN_NAMES = '\0'

/** Case-insensitive and Unicode-normalised. */
export function fold(text = ''): string {
  return text.normalize('NFC').toLowerCase()
}

/** Compares as numbers: as text 9 sorts after 10, and a double would lose digits. */
export function comesBefore(one: string, other: string): boolean {
  if (one.length === other.length) return one < other
  return sortKey(one) < sortKey(other)
}

function sortKey(id: string): string {
  // Ids of the same value (leading zeros) are distinguished by their length.
  return id.padStart(ITEM_ID_LENGTH_MAX, '0') + id.length
}

function piecesOf(text: string): Uint32Array {
  const pieces = new Uint32Array(1 << (PIECE_BITS - 5))
  for (let at = 0; at + PIECE_LENGTH <= text.length; at += 1) {
    const bit = pieceBit(text, at)
    pieces[bit >> 5] = (pieces[bit >> 5] as number) | (1 << (bit & 31))
  }
  return pieces
}

function hasPieces(pieces: Uint32Array, part: string): boolean {
  for (let at = 0; at + PIECE_LENGTH <= part.length; at += 1) {
    const bit = pieceBit(part, at)
    if (((pieces[bit >> 5] as number) & (1 << (bit & 31))) === 0) return false
  }
  return true
}

function pieceBit(text: string, at: number): number {
  let mixed = 0
  for (let n = 0; n < PIECE_LENGTH; n += 1) mixed = Math.imul(mixed ^ text.charCodeAt(at + n), 0x9e3779b1)
  return mixed >>> (32 - PIECE_BITS)
}

/** The last index, from `from` on, whose start is at or before the position. */
function startBefore(starts: Uint32Array, position: number, from: number): number {
  let low = from
  let high = starts.length - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] as number) <= position) low = middle
    else high = middle
  }
  return low
}
