import { createHash } from 'node:crypto'

const NESTED_MAX = 50

export interface Style {
  readonly comma?: string
  readonly colon?: string
  readonly sorted?: boolean
  readonly quote?: string
  readonly words?: readonly [yes: string, no: string, nothing: string]
  readonly spell?: (json: string) => string
}

export function written(value: unknown, style: Style): string {
  const { comma = ',', colon = ':', quote = '"', words = ['true', 'false', 'null'], spell = String } = style
  const text = (one: string) => (quote === '"' ? spell(JSON.stringify(one)) : quote + one + quote)
  const write = (one: unknown): string => {
    if (one === null) return words[2]
    if (typeof one === 'boolean') return words[one ? 0 : 1]
    if (typeof one === 'string') return text(one)
    if (typeof one !== 'object') return String(one)
    if (Array.isArray(one)) return `[${one.map(write).join(comma)}]`
    const names = Object.keys(one)
    if (style.sorted) names.sort()
    return `{${names.map((name) => text(name) + colon + write((one as Record<string, unknown>)[name])).join(comma)}}`
  }
  return write(value)
}

export function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function html(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function asciiOnly(text: string): boolean {
  return ascii(text) === text
}

export function unescaped(json: string): string {
  return json.replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** CESU-8: each half of a surrogate pair is encoded as three bytes. */
export function halves(text: string): Buffer {
  const bytes = text.split('').flatMap((unit) => {
    const code = unit.charCodeAt(0)
    const isHalf = code >= 0xd800 && code <= 0xdfff
    return isHalf
      ? [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]
      : [...Buffer.from(unit)]
  })
  return Buffer.from(bytes)
}

/** Also undefined for bodies nested deeper than the service accepts: serialising them could exhaust the stack. */
export function parsed(text: string): unknown {
  let depth = 0
  let deepest = 0
  for (const one of text) {
    if (one === '[' || one === '{') deepest = Math.max(deepest, ++depth)
    else if (one === ']' || one === '}') depth--
  }
  if (deepest > NESTED_MAX) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export function hexOf(algorithm: string, data: string | Uint8Array): string {
  return createHash(algorithm).update(data).digest('hex')
}
