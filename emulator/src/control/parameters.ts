import { refuse } from '@shopwire/service/embedded'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 2_000

export function nothingHere() {
  return refuse('not_found', 'There is nothing at this path. The emulator’s README lists the paths.')
}

export function range(query: URLSearchParams): [after: number, limit: number] {
  return [integer(query, 'after', 0), Math.min(LIMIT_MAX, integer(query, 'limit', LIMIT_DEFAULT))]
}

export function integer(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name)
  if (text === null) return fallback
  if (!/^\d{1,15}$/.test(text)) throw refuse('invalid_request', `${name} is a whole number.`)
  return Number(text)
}

export function optional<Name extends string>(
  query: URLSearchParams,
  name: Name,
): { [Key in Name]?: string } {
  const value = query.get(name)
  return (value === null ? {} : { [name]: sayable(value) }) as { [Key in Name]?: string }
}

/** A part of a path. */
export function decoded(part: string): string {
  try {
    return sayable(decodeURIComponent(part))
  } catch {
    throw nothingHere()
  }
}

/** The only character that PostgreSQL text cannot contain. */
function sayable(text: string): string {
  if (text.includes('\0')) throw nothingHere()
  return text
}
