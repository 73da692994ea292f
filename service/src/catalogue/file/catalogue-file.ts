import { csvText } from '@shopwire/contract/csv'
import { JsonError } from '../../platform/text/strict-json.ts'
import { refuse } from '../../platform/trouble.ts'
import type { ItemFacts } from '../queries.ts'
import { columns } from './columns.ts'
import { HeaderError, readCsv } from './csv-items.ts'
import { type CatalogueFile, type FileFormat, FileItems } from './file-items.ts'
import { textsOf } from './item-facts.ts'
import { readJson } from './json-items.ts'

/** V8 limits a string to about half a gigabyte, however much memory there is. */
const FILE_BYTES_MAX = 500_000_000

/**
 * Reads a whole file, or refuses it and lists everything that is wrong. Ids need the most care: an id that lost digits in a
 * spreadsheet or a double is the id of another item, which would be sold instead.
 */
export function readCatalogueFile(bytes: Uint8Array, wantedFormat?: FileFormat): CatalogueFile {
  const text = decode(bytes)
  const format = wantedFormat ?? (/^\s*[[{]/.test(text) ? 'json' : 'csv')
  const file = new FileItems(format)
  try {
    if (format === 'json') readJson(text, file)
    else readCsv(bytes, file)
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof HeaderError)) throw error
    file.problem(undefined, error.message)
  }
  return file.finish()
}

/** Writes, in chunks, a file that `readCatalogueFile` reads back as the same items. */
export async function* writeCatalogueFile(
  batches: AsyncIterable<readonly ItemFacts[]>,
  format: FileFormat,
): AsyncGenerator<string> {
  if (format === 'csv') {
    yield csvText([columns])
    for await (const items of batches) yield csvText(items.map(cellsOf))
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

function cellsOf(item: ItemFacts): string[] {
  const texts = textsOf(item)
  return columns.map((column) => texts[column])
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
