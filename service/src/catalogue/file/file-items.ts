import { refuse } from '../../platform/trouble.ts'
import type { ItemFacts } from '../queries.ts'
import type { ItemTexts } from './columns.ts'
import { factsOf, ITEM_ID } from './item-facts.ts'

export const fileFormats = ['json', 'csv'] as const
export type FileFormat = (typeof fileFormats)[number]

export interface CatalogueFile {
  readonly format: FileFormat
  readonly items: Map<string, ItemFacts>
  readonly warnings: string[]
}

const PROBLEMS_SHOWN_MAX = 50

/** Doubles, and so spreadsheets, keep this many digits of a number; the rest become zeros. */
const SPREADSHEET_DIGITS = 15
const ROUNDED_MIN = 3
const ROUNDED_SHARE_MAX = 0.1

/** Collects the items of a file and its problems. */
export class FileItems {
  readonly #format: FileFormat
  readonly #items = new Map<string, ItemFacts>()
  readonly #places = new Map<string, number>()
  readonly #collections = new Map<string, string>()
  readonly #problems: string[] = []
  #problemCount = 0
  readonly #roundedPlaces: number[] = []
  #count = 0

  constructor(format: FileFormat) {
    this.#format = format
  }

  /** `place` is the line in CSV and the number of the item in JSON, both from 1. */
  add(place: number, texts: ItemTexts) {
    this.#count += 1
    const facts = factsOf(texts, (message) => this.problem(place, message))
    const { id } = texts
    if (id === undefined || !ITEM_ID.test(id)) return
    // Only spreadsheets round ids, and they write CSV.
    if (this.#format === 'csv' && looksRounded(id)) this.#roundedPlaces.push(place)
    const first = this.#places.get(id)
    if (first !== undefined) {
      this.problem(
        place,
        `the id ${id} appears in ${this.#where(first)} already. Keep one of the two; if they should be different items, the ids lost digits on the way.`,
      )
      return
    }
    this.#places.set(id, place)
    if (facts) this.#items.set(id, { ...facts, collection: this.#one(facts.collection) })
  }

  problem(place: number | undefined, message: string) {
    this.#problemCount += 1
    if (this.#problems.length >= PROBLEMS_SHOWN_MAX) return
    this.#problems.push(place === undefined ? message : `${this.#where(place)}: ${message}`)
  }

  finish(): CatalogueFile {
    const warnings = this.#judgeRounded()
    if (this.#problemCount > 0) throw refuse('invalid_request', this.#complaint())
    return { format: this.#format, items: this.#items, warnings }
  }

  #judgeRounded(): string[] {
    const places = this.#roundedPlaces
    if (places.length === 0) return []
    const many = places.length === 1 ? '1 id has' : `${places.length} ids have`
    const which = `${many} nothing but zeros after the ${SPREADSHEET_DIGITS}th digit (${this.#where(places[0] as number)}${places.length > 1 ? ' and others' : ''})`
    if (places.length >= ROUNDED_MIN && places.length > this.#count * ROUNDED_SHARE_MAX) {
      this.problem(
        undefined,
        `${which}: this is what a spreadsheet leaves of a long number. Take the ids from their source again, and format the column as text before they are pasted or loaded; the digits cannot be brought back from this file. If the ids really end so, import them as JSON.`,
      )
      return []
    }
    return [
      `${which}. If a spreadsheet rounded them, they are other items' ids: compare them with their source.`,
    ]
  }

  #complaint(): string {
    const many = this.#problemCount === 1 ? 'a problem' : `${this.#problemCount} problems`
    const more = this.#problemCount - this.#problems.length
    return [
      `The file has ${many}; nothing was changed.`,
      ...this.#problems.map((problem) => `  ${problem}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ].join('\n')
  }

  #where(place: number): string {
    return this.#format === 'csv' ? `line ${place}` : `item ${place}`
  }

  /** Collections repeat, so each text is stored once. */
  #one(text: string): string {
    const known = this.#collections.get(text)
    if (known === undefined) this.#collections.set(text, text)
    return known ?? text
  }
}

function looksRounded(id: string): boolean {
  const rest = id.replace(/^0+/, '').slice(SPREADSHEET_DIGITS)
  return rest !== '' && /^0+$/.test(rest)
}
