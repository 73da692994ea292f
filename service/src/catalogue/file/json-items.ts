import {
  JsonError,
  type JsonValue,
  NumberToken,
  readStrictJsonList,
} from '../../platform/text/strict-json.ts'
import { type Column, type ItemTexts, isColumn, unknownName } from './columns.ts'
import type { FileItems } from './file-items.ts'

/**
 * Uses the parser of request bodies instead of `JSON.parse`, which silently takes the last of two equal members. A reviver could
 * see how a numeric id was written, but only after the whole file is in memory as objects.
 */
export function readJson(text: string, file: FileItems) {
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
