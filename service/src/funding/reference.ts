import { randomInt } from 'node:crypto'

const RANDOM_LENGTH = 14
const OWN_PREFIX = 'SW'

/**
 * A creditor reference by ISO 11649: `RF`, two check digits, and our part. Banks check the digits when it is typed in, so a
 * mistyped reference is found before the money is sent. Our part has digits only: then every wrong digit and every swap of two
 * neighbours is found.
 */
export function newReference(digit: () => number = () => randomInt(10)): string {
  return withCheckDigits(`${OWN_PREFIX}${Array.from({ length: RANDOM_LENGTH }, digit).join('')}`)
}

export function withCheckDigits(body: string): string {
  return `RF${String(98 - remainder(`${body}RF00`)).padStart(2, '0')}${body}`
}

/** As people write it: spaces and lower case do not matter. Undefined when the check digits are wrong. */
export function parseReference(text: string): string | undefined {
  const reference = text.replaceAll(/[\s-]/g, '').toUpperCase()
  if (!/^RF[0-9]{2}[0-9A-Z]{1,21}$/.test(reference)) return undefined
  return remainder(reference.slice(4) + reference.slice(0, 4)) === 1 ? reference : undefined
}

/** In groups of four, as on paper. */
export function printReference(reference: string): string {
  return reference.replaceAll(/(.{4})(?=.)/g, '$1 ')
}

/** ISO 7064 MOD 97-10: letters count from 10 to 35. */
function remainder(text: string): number {
  let rest = 0
  for (const letter of text) {
    const value = Number.parseInt(letter, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}
