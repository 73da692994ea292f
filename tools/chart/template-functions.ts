import { stringify } from 'yaml'

// biome-ignore lint/suspicious/noExplicitAny: as in Go's templates, each function says what it takes, and callers are texts.
export type TemplateFunction = (...args: any[]) => unknown

type Fields = Readonly<Record<string, unknown>>

/** Those of text/template, Sprig and Helm that the chart uses, with the same order of arguments. */
export const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  add: (...numbers) => numbers.map(toInt).reduce((sum, n) => sum + n, 0n),
  base: (path: string) => path.split('/').at(-1),
  contains: (part: string, text: string) => text.includes(part),
  default: (fallback, value) => (isTruthy(value) ? value : fallback),
  dict: (...pairs) =>
    Object.fromEntries(
      Array.from({ length: pairs.length / 2 }, (_, n) => [String(pairs[2 * n]), pairs[2 * n + 1]]),
    ),
  div: (a, b) => toInt(a) / toInt(b),
  eq: (a, b) => a === b,
  fail: (why: string) => {
    throw new Error(why)
  },
  floor: (value: number) => Math.floor(value),
  has: (item, list: readonly unknown[]) => list.includes(item),
  hasKey: (fields: Fields, key: string) => Object.hasOwn(fields, key),
  hasPrefix: (prefix: string, text: string) => text.startsWith(prefix),
  index: (fields: Fields, key: string) => fields[key],
  int64: (value) => toInt(value),
  kindIs: (kind: string, value) => goKind(value) === kind,
  list: (...items) => items,
  ne: (a, b) => a !== b,
  nindent: (width: bigint, text: string) => `\n${text.replace(/^/gm, ' '.repeat(Number(width)))}`,
  not: (value) => !isTruthy(value),
  printf: (format: string, ...args) => format.replaceAll('%s', () => textOf(args.shift())),
  quote: (value) => JSON.stringify(textOf(value)),
  replace: (old: string, by: string, text: string) => text.replaceAll(old, by),
  required: (why: string, value) => {
    if (value === undefined || value === null || value === '') throw new Error(why)
    return value
  },
  splitList: (separator: string, text: string) => text.split(separator),
  ternary: (ifTrue, ifFalse, condition: boolean) => (condition ? ifTrue : ifFalse),
  toYaml: (value) => stringify(value, { indentSeq: false, sortMapEntries: true, lineWidth: 0 }).trimEnd(),
  trim: (text: string) => text.trim(),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, -suffix.length || undefined) : text,
  trunc: (length: bigint, text: string) => text.slice(0, Number(length)),
}

/** In a condition: not false, not zero, not empty. */
export function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  // Go prints a float64 from a million on as 1e+06.
  if (typeof value === 'number' && Math.abs(value) < 1_000_000) return String(value)
  if (typeof value === 'number') throw new Error(`${value} must be converted by int64 before it is printed`)
  throw new Error(`${value === undefined || value === null ? 'nothing' : typeof value} cannot be printed`)
}

function toInt(value: unknown): bigint {
  return typeof value === 'number' ? BigInt(Math.trunc(value)) : BigInt(value as string | bigint)
}

function goKind(value: unknown): string {
  if (typeof value === 'number') return 'float64'
  if (typeof value === 'bigint') return 'int64'
  if (typeof value === 'boolean') return 'bool'
  if (value === null || value === undefined) return 'invalid'
  if (Array.isArray(value)) return 'slice'
  return typeof value === 'object' ? 'map' : 'string'
}
