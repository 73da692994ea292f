import { ITEM_ID_LENGTH_MAX } from '@shopwire/contract'
import type { ItemRow } from './queries.ts'

const ITEMS_MAX = 8_192

/** A run of items next to each other in numeric order, with their names in one text: one search instead of thousands. */
export class ItemBlock {
  readonly items: ItemRow[]
  #names: { text: string; starts: Uint32Array } | undefined

  constructor(items: ItemRow[]) {
    this.items = items
  }

  get firstId(): string {
    return (this.items[0] as ItemRow).id
  }

  /** Adds the item, or puts it in the place of the one with its id. */
  put(item: ItemRow): void {
    this.#names = undefined
    const at = this.#placeOf(sortKey(item.id))
    const isKnown = this.items[at]?.id === item.id
    this.items.splice(at, isKnown ? 1 : 0, item)
  }

  /** The upper half as a block of its own, once there are too many. */
  splitIfFull(): ItemBlock | undefined {
    if (this.items.length <= ITEMS_MAX) return undefined
    return new ItemBlock(this.items.splice(this.items.length >> 1))
  }

  /** Items whose name contains the folded text, in order. */
  *named(part: string): Generator<ItemRow> {
    if (part === '') {
      yield* this.items
      return
    }
    const { text, starts } = this.#index()
    let place = 0
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, starts[place + 1])) {
      place = startBefore(starts, at, place)
      yield this.items[place] as ItemRow
    }
  }

  #index() {
    if (!this.#names) {
      const names = this.items.map(({ name }) => fold(name))
      const starts = new Uint32Array(names.length + 1)
      for (const [n, name] of names.entries()) starts[n + 1] = (starts[n] as number) + name.length + 1
      this.#names = { text: names.join(BETWEEN_NAMES), starts }
    }
    return this.#names
  }

  #placeOf(key: string): number {
    let low = 0
    let high = this.items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (sortKey((this.items[middle] as ItemRow).id) < key) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** In no name and in no query, so that nothing matches across two names. */
const BETWEEN_NAMES = '\0'

/** Case-insensitive, and one spelling for letters that can be written in two. */
export function fold(text = ''): string {
  return text.normalize('NFC').toLowerCase()
}

/** Text order would put 9 behind 10; as numbers, ids of 20 digits would lose some of them. */
export function sortKey(id: string): string {
  // Ids of the same value (leading zeros) are told apart by their length.
  return id.padStart(ITEM_ID_LENGTH_MAX, '0') + id.length
}

/** The last place, from `from` on, whose start is at or before the position. */
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
