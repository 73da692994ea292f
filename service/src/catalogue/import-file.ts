import { ITEM_ID_LENGTH_MAX, ITEM_ID_LENGTH_MIN, type ItemType, itemTypes } from '@shopwire/contract'
import { JsonError, type JsonValue, NumberToken, readStrictJsonList } from '../platform/text/strict-json.ts'
import { refuse } from '../platform/trouble.ts'
import type { ItemFacts } from './queries.ts'

/** The columns of a catalogue file: the header of a CSV file, the members of an item in JSON. */
export const columns = [
  'id',
  'name',
  'type',
  'collection',
  'price_cents',
  'image',
  'available_until',
  'for_sale',
] as const
export type Column = (typeof columns)[number]

/** An item in the texts of a file. Empty or missing values take their default. */
export type ItemTexts = Partial<Record<Column, string>>

export const fileFormats = ['json', 'csv'] as const
export type FileFormat = (typeof fileFormats)[number]

export interface CatalogueFile {
  readonly format: FileFormat
  readonly items: Map<string, ItemFacts>
  readonly warnings: string[]
}

/** V8 limits a string to about half a gigabyte, whatever memory there is. */
const FILE_BYTES_MAX = 500_000_000
const PRICE_CENTS_MAX = 100_000_000
const TEXT_LENGTH_MAX = 200
const IMAGE_LENGTH_MAX = 2_000
const PROBLEMS_SHOWN_MAX = 50

/** Doubles, and so spreadsheets, keep this many digits of a number; the rest become zeros. */
const SPREADSHEET_DIGITS = 15
const ROUNDED_MIN = 3
const ROUNDED_SHARE_MAX = 0.1

const REQUIRED: readonly Column[] = ['id', 'name', 'type', 'collection', 'price_cents']

/**
 * Reads a whole file, or refuses it and lists everything that is wrong. Ids need the most care: one that lost digits in a
 * spreadsheet or a double is the id of another item and would be sold as that.
 */
export function readCatalogueFile(bytes: Uint8Array, wantedFormat?: FileFormat): CatalogueFile {
  const text = decode(bytes)
  const format = wantedFormat ?? (/^\s*[[{]/.test(text) ? 'json' : 'csv')
  const file = new FileItems(format)
  try {
    if (format === 'json') readJson(text, file)
    else readCsv(text, file)
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof CsvError)) throw error
    file.problem(undefined, error.message)
  }
  return file.finish()
}

/** Reads one item by the same rules, for changes that do not come from a file. */
export function readItem(texts: ItemTexts): ItemFacts {
  const problems: string[] = []
  const facts = factsOf(texts, (message) => problems.push(message))
  if (!facts) throw refuse('invalid_request', `${problems.join(' ')} Nothing was changed.`)
  return facts
}

/** The inverse of `readItem`. */
export function textsOf(item: ItemFacts): Record<Column, string> {
  return {
    id: item.id,
    name: item.name,
    type: item.type,
    collection: item.collection,
    price_cents: String(item.price_cents),
    image: item.image ?? '',
    available_until: item.available_until?.toISOString() ?? '',
    for_sale: String(item.is_for_sale),
  }
}

/** Writes, in chunks, a file that `readCatalogueFile` reads back as the same items. */
export async function* writeCatalogueFile(
  batches: AsyncIterable<readonly ItemFacts[]>,
  format: FileFormat,
): AsyncGenerator<string> {
  if (format === 'csv') {
    yield `${columns.join(',')}\n`
    for await (const items of batches) yield items.map(csvLine).join('')
    return
  }
  yield '{"items":['
  let between = '\n'
  for await (const items of batches) {
    if (items.length > 0) yield between + items.map(jsonText).join(',\n')
    between = ',\n'
  }
  yield '\n]}\n'
}

function csvLine(item: ItemFacts): string {
  const texts = textsOf(item)
  const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return `${columns.map((column) => cell(texts[column])).join(',')}\n`
}

function jsonText({ is_for_sale, ...facts }: ItemFacts): string {
  const { id, name, type, collection, price_cents, image, available_until } = facts
  return JSON.stringify({
    ...{ id, name, type, collection, price_cents, image, available_until },
    for_sale: is_for_sale,
  })
}

function decode(bytes: Uint8Array): string {
  if (bytes.length > FILE_BYTES_MAX) {
    throw refuse(
      'invalid_request',
      `The file has more than ${FILE_BYTES_MAX / 1_000_000} MB. Split it and import the parts with --partial.`,
    )
  }
  let text: string
  try {
    // Removes a byte order mark: spreadsheets write one, and it means nothing in UTF-8.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('invalid_request', 'The file is not UTF-8. Save it again, as "CSV UTF-8" or as JSON.')
  }
  if (text.trim() === '') {
    throw refuse(
      'invalid_request',
      'The file is empty. Check that it was written completely, then import it again.',
    )
  }
  return text
}

/** Collects the items of a file and its problems. */
class FileItems {
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
        `the id ${id} stands in ${this.#where(first)} already. Keep one of the two; if they should be different items, the ids lost digits on the way.`,
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

/**
 * Uses the parser of request bodies instead of `JSON.parse`, which silently takes the last of two equal members. A reviver could
 * see how a numeric id was written, but only after the whole file is in memory as objects.
 */
function readJson(text: string, file: FileItems) {
  let place = 0
  try {
    for (const value of readStrictJsonList(text, 'items')) {
      place += 1
      const texts = textsFromJson(value, (message) => file.problem(place, message))
      if (texts) file.add(place, texts)
    }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new JsonError(
      `${place === 0 ? '' : `after item ${place}: `}${error.message} The file is an array of items, or {"items": [...]}; what follows was not read.`,
    )
  }
}

function textsFromJson(
  value: JsonValue<NumberToken>,
  complain: (message: string) => void,
): ItemTexts | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || value instanceof NumberToken) {
    complain('is not an object.')
    return undefined
  }
  const texts: ItemTexts = {}
  let isSound = true
  for (const name of Object.keys(value)) {
    const wrong = isColumn(name)
      ? takeJson(texts, name, value[name] as JsonValue<NumberToken>)
      : unknownName('member', name)
    if (wrong === undefined) continue
    complain(wrong)
    isSound = false
  }
  return isSound ? texts : undefined
}

/** Adds the member to the texts, or returns what is wrong with its type. */
function takeJson(texts: ItemTexts, name: Column, value: JsonValue<NumberToken>): string | undefined {
  if (value === null) return undefined
  if (name === 'price_cents') {
    if (!(value instanceof NumberToken)) return 'price_cents must be a number of cents, such as 199.'
    texts[name] = value.source
  } else if (name === 'for_sale') {
    if (typeof value !== 'boolean') return 'for_sale must be true or false.'
    texts[name] = String(value)
  } else if (name === 'id' && value instanceof NumberToken) {
    return `the id ${value.source.slice(0, 40)} is a number. Write it in quotes: numbers of this length lose digits in most programs, maybe already in the one that wrote this file.`
  } else if (typeof value !== 'string') {
    return `${name} must be text in quotes.`
  } else {
    texts[name] = value
  }
  return undefined
}

function readCsv(text: string, file: FileItems) {
  let header: Column[] | undefined
  for (const { line, cells, strayQuote } of csvRecords(text)) {
    const trimmed = cells.map((cell) => cell.trim())
    if (trimmed.every((cell) => cell === '')) continue
    if (!header) {
      header = readHeader(trimmed)
      continue
    }
    if (cells.length !== header.length) {
      file.problem(
        line,
        `has ${cells.length} fields where the header has ${header.length}. A comma inside a field needs quotes around the field; a last line that is short was cut off.`,
      )
      continue
    }
    const texts: ItemTexts = {}
    for (const [n, column] of header.entries()) texts[column] = trimmed[n] as string
    const strayIn = strayQuote === undefined ? undefined : header[strayQuote]
    // Quotes in an id are reported by the check of the id, which says more.
    if (strayIn !== undefined && strayIn !== 'id') {
      file.problem(
        line,
        `${strayIn} has a quote inside a field without quotes around it. Write "${'5"" frame'}" for 5" frame.`,
      )
    } else {
      file.add(line, texts)
    }
  }
}

function readHeader(names: readonly string[]): Column[] {
  if (names.length === 1 && /[;\t]/.test(names[0] as string)) {
    throw new CsvError('line 1: the columns are separated by semicolons or tabs. Save the file with commas.')
  }
  const problems = names.filter((name) => !isColumn(name)).map((name) => unknownName('column', name))
  for (const [n, name] of names.entries()) {
    if (names.indexOf(name) < n) problems.push(`the column "${name}" stands twice.`)
  }
  const missing = REQUIRED.filter((column) => !names.includes(column))
  if (missing.length > 0) problems.push(`the header lacks ${missing.join(', ')}.`)
  if (problems.length > 0) {
    throw new CsvError(
      `line 1: ${problems.join(' ')} The first line names the columns: ${columns.join(',')}.`,
    )
  }
  return names as Column[]
}

class CsvError extends Error {
  override readonly name = 'CsvError'
}

interface CsvRecord {
  /** The line it starts in, from 1. */
  readonly line: number
  readonly cells: string[]
  /** The first cell that contains a quote but does not start with one. */
  readonly strayQuote: number | undefined
}

/**
 * RFC 4180 with either line end. Written here because a record has to know the line it starts in, and an invalid record is one
 * problem among others, while a library would stop at the first.
 */
function* csvRecords(text: string): Generator<CsvRecord> {
  let at = 0
  let line = 1
  while (at < text.length) {
    const end = lineEnd(text, at)
    const plain = text.slice(at, end)
    if (!plain.includes('"')) {
      yield { line, cells: plain.split(','), strayQuote: undefined }
      at = end + 1
      line += 1
    } else {
      const record = quotedRecord(text, at, line)
      yield record
      at = record.end
      line += record.lines
    }
  }
}

function quotedRecord(text: string, start: number, line: number) {
  const cells: string[] = []
  let strayQuote: number | undefined
  let lines = 1
  let at = start
  for (;;) {
    let end: number
    if (text[at] === '"') {
      end = closingQuote(text, at, line + lines - 1) + 1
      const cell = text.slice(at + 1, end - 1).replaceAll('""', '"')
      lines += cell.split('\n').length - 1
      cells.push(cell)
      if (text[end] === '\r') end += 1
      if (end < text.length && text[end] !== ',' && text[end] !== '\n') {
        throw new CsvError(
          `line ${line + lines - 1}: there is text after a closing quote. A quote inside a quoted field is written twice. What follows was not read.`,
        )
      }
    } else {
      const comma = text.indexOf(',', at)
      end = lineEnd(text, at)
      if (comma >= 0 && comma < end) end = comma
      const cell = text.slice(at, end)
      if (cell.includes('"')) strayQuote ??= cells.length
      cells.push(cell)
    }
    at = end + 1
    if (text[end] !== ',') return { line, cells, strayQuote, lines, end: at }
  }
}

function closingQuote(text: string, opening: number, line: number): number {
  let at = opening
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) {
      throw new CsvError(
        `line ${line}: a quoted field begins here and never ends. A quote inside a quoted field is written twice; a file that ends early was cut off.`,
      )
    }
    if (text[at + 1] !== '"') return at
    at += 1
  }
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : at
}

function isColumn(name: string): name is Column {
  return (columns as readonly string[]).includes(name)
}

function unknownName(what: 'column' | 'member', name: string): string {
  const shown = JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
  const near = nearColumn(name.toLowerCase())
  return `the ${what} ${shown} is unknown${near ? `; did you mean "${near}"?` : '.'}`
}

const TYPOS_MAX = 2

function nearColumn(name: string): Column | undefined {
  if (name.length > 40) return undefined
  const plain = name.replaceAll(/[^a-z]/g, '')
  const byDistance = columns
    .map((column) => ({ column, typos: typosBetween(plain, column.replaceAll('_', '')) }))
    .sort((a, b) => a.typos - b.typos)[0]
  if (byDistance && byDistance.typos <= TYPOS_MAX) return byDistance.column
  return columns.find((column) =>
    column.split('_').some((word) => word.length > 3 && plain.length > 3 && plain.includes(word)),
  )
}

/** Levenshtein distance. */
function typosBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [row, char] of [...a].entries()) {
    const current = [row + 1]
    for (let n = 0; n < b.length; n += 1) {
      const replaced = (above[n] as number) + (b[n] === char ? 0 : 1)
      current.push(Math.min(replaced, (above[n + 1] as number) + 1, (current[n] as number) + 1))
    }
    above = current
  }
  return above[b.length] as number
}

/** The rules for an item of any format. Reports every problem, not only the first. */
function factsOf(texts: ItemTexts, complain: (message: string) => void): ItemFacts | undefined {
  let isSound = true
  const wrong = (message: string) => {
    isSound = false
    complain(message)
  }
  const id = texts.id ?? ''
  if (!ITEM_ID.test(id)) wrong(whatIsWrongWithId(id))
  const type = readType(texts.type ?? '', wrong)
  const facts = {
    id,
    name: readText('name', texts.name, wrong),
    type,
    collection: readText('collection', texts.collection, wrong),
    price_cents: readPrice(texts.price_cents ?? '', wrong),
    image: readImage(texts.image ?? '', type, wrong),
    is_for_sale: readForSale(texts.for_sale ?? '', wrong),
    available_until: readTime(texts.available_until ?? '', wrong),
  }
  return isSound ? facts : undefined
}

const ITEM_ID = new RegExp(`^[0-9]{${ITEM_ID_LENGTH_MIN},${ITEM_ID_LENGTH_MAX}}$`)
const DIGITS_WANTED = `${ITEM_ID_LENGTH_MIN} to ${ITEM_ID_LENGTH_MAX} digits`

function whatIsWrongWithId(id: string): string {
  if (id === '') return 'the id is missing.'
  const shown = `the id ${show(id)}`
  if (/^\d+([.,]\d+)?e[+-]?\d+$/i.test(id)) {
    return `${shown} is in scientific notation: a spreadsheet dropped its last digits. Take it from its source again, with the column formatted as text.`
  }
  if (/^\d{1,3}([., \u00a0\u202f'’_]\d{3})+$/.test(id)) {
    return `${shown} has thousands separators, so a spreadsheet took it for a number. Take it from its source again, with the column formatted as text.`
  }
  if (/["'’‘“”`=]/.test(id)) {
    return `${shown} has quotes, an apostrophe or "=" left by a spreadsheet. Write the digits alone.`
  }
  if (/^\d+[.,]\d*$/.test(id)) {
    return `${shown} has a decimal point, so something took it for a number. Take it from its source again, as text.`
  }
  if (/^\d+$/.test(id)) {
    const many = id.length < ITEM_ID_LENGTH_MIN ? 'Leading zeros or last digits may be lost.' : ''
    return `${shown} has ${id.length} digits; an id has ${DIGITS_WANTED}. ${many}`.trimEnd()
  }
  return `${shown} must be ${DIGITS_WANTED} and nothing else.`
}

function looksRounded(id: string): boolean {
  const rest = id.replace(/^0+/, '').slice(SPREADSHEET_DIGITS)
  return rest !== '' && /^0+$/.test(rest)
}

function readText(
  column: 'name' | 'collection',
  given: string | undefined,
  wrong: (m: string) => void,
): string {
  // Normalised, so that searches and comparisons treat the two spellings of a letter as equal.
  const text = (given ?? '').normalize('NFC')
  // Control characters would let a name change the terminal or the log line it is printed in.
  if (/\p{Cc}/u.test(text)) wrong(`${column} ${show(text)} has control characters or a line break.`)
  else if (text === '') wrong(`${column} is missing.`)
  else if (text !== text.trim()) wrong(`${column} ${show(text)} begins or ends with a space.`)
  else if (text.length > TEXT_LENGTH_MAX && [...text].length > TEXT_LENGTH_MAX)
    wrong(`${column} has ${[...text].length} characters; at most ${TEXT_LENGTH_MAX} are kept.`)
  return text
}

function readType(text: string, wrong: (message: string) => void): ItemType {
  const type = itemTypes.find((known) => known === text)
  if (type) return type
  wrong(`type ${text === '' ? 'is missing; it' : show(text)} must be one of ${itemTypes.join(', ')}.`)
  return itemTypes[0]
}

function readPrice(text: string, wrong: (message: string) => void): number {
  const isPlain = /^(0|[1-9]\d{0,15})$/.test(text)
  const cents = isPlain ? Number(text) : 0
  if (text === '') wrong('price_cents is missing.')
  else if (/^\$?\s*\d+[.,]\d{1,2}$/.test(text))
    wrong(`price_cents ${show(text)} looks like dollars. It is whole cents: 199 for $1.99.`)
  else if (!isPlain) wrong(`price_cents ${show(text)} must be whole cents, such as 199 for $1.99.`)
  else if (cents > PRICE_CENTS_MAX) wrong(`price_cents ${text} is more than ${PRICE_CENTS_MAX}.`)
  return cents
}

function readImage(text: string, type: ItemType, wrong: (message: string) => void): string | null {
  if (text === '') return null
  if (type === 'frame') wrong('image must be empty for a frame, whose preview is put together from layers.')
  else if (text.length > IMAGE_LENGTH_MAX) wrong(`image has more than ${IMAGE_LENGTH_MAX} characters.`)
  else if (!/^https?:\/\/[^\s\p{Cc}]+$/u.test(text) || !URL.canParse(text))
    wrong(`image ${show(text)} must be a whole address that begins with https:// or http://.`)
  return text
}

function readForSale(text: string, wrong: (message: string) => void): boolean {
  const word = text.toLowerCase()
  if (word !== '' && word !== 'true' && word !== 'false')
    wrong(`for_sale ${show(text)} must be true or false.`)
  return word !== 'false'
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const TIME_MS_MAX = Date.UTC(10_000, 0, 1) - 1

function readTime(text: string, wrong: (message: string) => void): Date | null {
  if (text === '') return null
  const [, year, month, day] = DATE_TIME.exec(text) ?? []
  const at = new Date(text)
  // Date.parse reads 30 February as 2 March.
  const isDay =
    year !== undefined && Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (!isDay || !(at.getTime() >= 0 && at.getTime() <= TIME_MS_MAX)) {
    wrong(
      `available_until ${show(text)} must be a date and time with its offset, such as 2026-12-31T23:59:59Z or 2026-12-31T18:59:59-05:00.`,
    )
  }
  return at
}

function show(text: string): string {
  return JSON.stringify([...text].length > 60 ? `${[...text].slice(0, 60).join('')}…` : text)
}
