import { repeatedItemId } from '@shopwire/contract'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { JsonError, parseStrictJson } from '../platform/text/strict-json.ts'
import { refuse } from '../platform/trouble.ts'

/** Turns the raw query and body of one route into values the contract allows, or refuses with what is wrong. */
export interface InputReader {
  query(raw: string | undefined): unknown
  body(bytes: Uint8Array): unknown
}

/** JSON schemas; without one there is no body, or no parameters. */
export interface InputSchemas {
  readonly query?: object
  readonly body?: object
}

/** Nothing is coerced, dropped or filled in: a numeric id would silently become that of another item. */
const bodies = new Ajv({ strict: true, allErrors: false, coerceTypes: false, removeAdditional: false })
const queries = new Ajv({
  strict: true,
  allErrors: false,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
})

export function createInputReader(route: InputSchemas): InputReader {
  const checkBody = route.body && bodies.compile(route.body)
  const checkQuery = route.query && queries.compile(route.query)
  const properties =
    (route.query as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {}
  const known = new Map(Object.entries(properties).map(([name, { type }]) => [name, type === 'integer']))
  return {
    query(raw) {
      const values = readQuery(raw, known)
      if (!checkQuery) return undefined
      check(checkQuery, values, 'the query')
      return values
    },
    body(bytes) {
      if (!checkBody) return undefined
      const value = readJson(bytes)
      check(checkBody, value, 'the body')
      refuseRepeatedItems(value)
      return value
    },
  }
}

export function bodyNotTaken(method: string) {
  return refuse('invalid_request', `This ${method} request takes no body; leave it out.`)
}

function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0)
    throw refuse('invalid_request', 'This request needs a JSON body; it came without one.')
  try {
    return parseStrictJson(bytes)
  } catch (error) {
    if (error instanceof JsonError) throw refuse('invalid_request', error.message)
    throw error
  }
}

const CANONICAL_INTEGER = /^(0|[1-9][0-9]{0,15})$/

function readQuery(
  raw: string | undefined,
  known: ReadonlyMap<string, boolean>,
): Record<string, string | number> {
  const values: Record<string, string | number> = Object.create(null)
  const seen = new Set<string>()
  for (const pair of raw?.split('&') ?? []) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const text = decode(equals < 0 ? '' : pair.slice(equals + 1))
    if (seen.has(name)) throw refuse('invalid_request', `The query parameter ${show(name)} appears twice.`)
    seen.add(name)
    const isInteger = known.get(name)
    if (isInteger === undefined) continue
    if (isInteger && !CANONICAL_INTEGER.test(text)) {
      throw refuse(
        'invalid_request',
        `The query parameter ${show(name)} must be a whole number in plain form, such as 25.`,
      )
    }
    values[name] = isInteger ? Number(text) : text
  }
  return values
}

/** Form decoding, once, as UTF-8. Other raw characters, such as commas, stay as they are. */
function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\0')) return decoded.normalize('NFC')
  } catch {
    // Falls through: an incomplete escape, or bytes that are not UTF-8.
  }
  throw refuse('invalid_request', 'The query is not valid percent-encoded UTF-8.')
}

function check(validate: ValidateFunction, value: unknown, whole: string) {
  if (validate(value)) return
  const [error] = validate.errors ?? []
  throw refuse(
    'invalid_request',
    error ? explain(error, whole) : `Something in ${whole} breaks the contract.`,
  )
}

function explain({ instancePath, keyword, message, params }: ErrorObject, whole: string): string {
  const steps = instancePath.split('/').slice(1)
  const place = steps
    .map((step, n) => (/^\d+$/.test(step) ? `[${step}]` : n === 0 ? step : `.${step}`))
    .join('')
  const subject = place === '' ? whole : place
  switch (keyword) {
    case 'additionalProperties':
      return `${capital(subject)} has a property ${show(String(params.additionalProperty))} that the contract does not have.`
    case 'required':
      return `${capital(subject)} lacks the property ${show(String(params.missingProperty))}.`
    case 'enum':
      return `${capital(subject)} must be one of ${(params.allowedValues as unknown[]).join(', ')}.`
    default:
      return `${capital(subject)} ${message ?? 'breaks the contract'}.`
  }
}

function refuseRepeatedItems(value: unknown) {
  const items = (value as { items?: unknown }).items
  if (!Array.isArray(items) || items.some((item) => typeof item?.id !== 'string')) return
  const repeated = repeatedItemId(items as { id: string }[])
  if (repeated !== null) {
    throw refuse(
      'invalid_request',
      `The item ${repeated} appears twice in the cart. Put it in one line with its qty.`,
    )
  }
}

function capital(text: string): string {
  return text.startsWith('the ') ? `The${text.slice(3)}` : text
}

function show(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
