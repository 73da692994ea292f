import { ITEM_ID_LENGTH_MAX, ITEM_ID_LENGTH_MIN, type ItemType, itemTypes } from '@shopwire/contract'
import { refuse } from '../../platform/trouble.ts'
import type { ItemFacts } from '../queries.ts'
import type { Column, ItemTexts } from './columns.ts'

const PRICE_CENTS_MAX = 100_000_000
const TEXT_LENGTH_MAX = 200
const IMAGE_LENGTH_MAX = 2_000
export const ITEM_ID = new RegExp(`^[0-9]{${ITEM_ID_LENGTH_MIN},${ITEM_ID_LENGTH_MAX}}$`)

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

/** The rules for an item of any format. Reports every problem, not only the first. */
export function factsOf(texts: ItemTexts, complain: (message: string) => void): ItemFacts | undefined {
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
