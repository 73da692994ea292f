/** They ask for no more than that their text goes along. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
])

export interface Exception {
  /** Names of packages. */
  readonly packages: RegExp
  /** What they declare; undefined when they declare nothing. */
  readonly licence: string | undefined
  /** Whether they may be in what we publish, or only build and test it. */
  readonly mayShip: boolean
  readonly reason: string
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    packages: /^lightningcss(-|$)/,
    licence: 'MPL-2.0',
    mayShip: false,
    reason: 'Vite compresses styles with it. It is used unchanged, and no part of it is in the result.',
  },
  {
    packages: /^(axe-core|@axe-core\/playwright)$/,
    licence: 'MPL-2.0',
    mayShip: false,
    reason: 'Tests examine the pages with it, unchanged; it is not published.',
  },
  {
    packages: /^@fontsource-variable\/(inter|geist-mono)$/,
    licence: 'OFL-1.1',
    mayShip: true,
    reason:
      'Fonts of the dashboard. The licence allows to ship them with software, unchanged and with its text, as we do; it forbids to sell the fonts alone.',
  },
  {
    packages: /^png-js$/,
    licence: undefined,
    mayShip: true,
    reason: 'Its package.json names no licence. Its file LICENSE is the MIT licence, read for version 2.0.0.',
  },
]

export interface Licensed {
  readonly name: string
  readonly licence: string | undefined
  /** In what we publish. */
  readonly isShipped: boolean
}

/** Why this package may not be used, or undefined. */
export function refusal({ name, licence, isShipped }: Licensed): string | undefined {
  if (licence !== undefined && isAllowed(licence)) return undefined
  const exception = EXCEPTIONS.find((one) => one.packages.test(name) && one.licence === licence)
  const says = `${name} ${licence === undefined ? 'declares no licence' : `is under ${licence}`}`
  if (!exception)
    return `${says}, which packaging/licence-policy.ts does not allow. Use another package, or add an exception with its reason there.`
  if (isShipped && !exception.mayShip)
    return `${says} and may only build and test, but is now part of what is published. See its exception in packaging/licence-policy.ts.`
  return undefined
}

/** An SPDX expression: of licences joined by OR one is enough, of those joined by AND each is needed. */
export function isAllowed(expression: string): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? []
  const result = either()
  // What is left over, such as WITH and an exception, is not understood and so not allowed.
  return result && tokens.length === 0

  function either(): boolean {
    let result = both()
    while (tokens[0] === 'OR') {
      tokens.shift()
      const next = both()
      result ||= next
    }
    return result
  }

  function both(): boolean {
    let result = one()
    while (tokens[0] === 'AND') {
      tokens.shift()
      const next = one()
      result &&= next
    }
    return result
  }

  function one(): boolean {
    const token = tokens.shift()
    if (token !== '(') return token !== undefined && ALLOWED.has(token)
    const result = either()
    return tokens.shift() === ')' && result
  }
}
