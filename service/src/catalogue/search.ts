import { LRUCache } from 'lru-cache'
import { inTurns } from '../platform/process/turns.ts'
import { fold, type ItemBlock } from './item-block.ts'
import type { ItemRow } from './queries.ts'

/** Cache of results for the next page, sized in matches: some searches match a million items. */
const CACHED_MATCHES_MAX = 4_000_000
/** One block takes a millisecond or two, and with an index to build up to five. */
const TURN_MS = 5
/** A catalogue that changes during every attempt is searched without a pause in the end. */
const ATTEMPTS_IN_TURNS = 3
/** Items between two looks at the clock. */
const STRIDE = 4_096

export interface Filters {
  /** Folded; empty matches any. */
  readonly name: string
  readonly collection: string
  readonly type: string | undefined
}

interface Searched {
  readonly blocks: readonly ItemBlock[]
  readonly revision: number
}

/**
 * Searches of a catalogue. A search among a million items takes a tenth of a second and more, so it takes turns with other requests;
 * when the catalogue changes meanwhile it begins again, so that a result is of one revision.
 */
export class Searches {
  readonly #of: Searched
  readonly #found = new LRUCache<string, readonly ItemRow[]>({
    maxSize: CACHED_MATCHES_MAX,
    sizeCalculation: (matches) => matches.length + 1,
  })
  /** The same search is made once, however many ask for it. */
  readonly #running = new Map<string, Promise<readonly ItemRow[] | undefined>>()

  constructor(of: Searched) {
    this.#of = of
  }

  forget(): void {
    this.#found.clear()
  }

  async find(filters: Filters): Promise<readonly ItemRow[]> {
    const name = JSON.stringify([filters.name, filters.collection, filters.type])
    for (let attempt = 1; ; attempt += 1) {
      const found = this.#found.get(name) ?? (await this.#search(name, filters, attempt <= ATTEMPTS_IN_TURNS))
      if (found) return found
    }
  }

  /** Undefined when the catalogue changed meanwhile. */
  #search(name: string, filters: Filters, inTurn: boolean): Promise<readonly ItemRow[] | undefined> {
    const running =
      this.#running.get(name) ??
      this.#scan(filters, inTurn ? inTurns(TURN_MS) : () => undefined).finally(() =>
        this.#running.delete(name),
      )
    this.#running.set(name, running)
    return running.then((found) => {
      if (found) this.#found.set(name, found)
      return found
    })
  }

  async #scan(
    { name, collection, type }: Filters,
    turn: ReturnType<typeof inTurns>,
  ): Promise<readonly ItemRow[] | undefined> {
    const { revision } = this.#of
    const isInCollection = collectionFilter(collection)
    const found: ItemRow[] = []
    for (const block of this.#of.blocks) {
      for (const item of block.named(name)) {
        if (type !== undefined && item.type !== type) continue
        if (isInCollection(item.collection)) found.push(item)
      }
      const pause = turn()
      if (!pause) continue
      await pause
      if (this.#of.revision !== revision) return undefined
    }
    return found
  }
}

/** Those of many items that are wanted, in turns with other requests. */
export async function wantedOf(
  items: readonly ItemRow[],
  isWanted: (item: ItemRow) => boolean,
): Promise<ItemRow[]> {
  const turn = inTurns(TURN_MS)
  const wanted: ItemRow[] = []
  for (let at = 0; at < items.length; at += STRIDE) {
    for (const item of items.slice(at, at + STRIDE)) if (isWanted(item)) wanted.push(item)
    await turn()
  }
  return wanted
}

/** There are far fewer collections than items, so each is tested once. */
function collectionFilter(wanted: string): (collection: string) => boolean {
  if (wanted === '') return () => true
  const known = new Map<string, boolean>()
  return (collection) => {
    let isWanted = known.get(collection)
    if (isWanted === undefined) {
      isWanted = fold(collection).includes(wanted)
      known.set(collection, isWanted)
    }
    return isWanted
  }
}
