import { InvalidArgumentError } from 'commander'

const LIST_MAX = 1_000

export function parseLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_MAX) {
    throw new InvalidArgumentError(`must be a whole number from 1 to ${LIST_MAX}.`)
  }
  return limit
}

export function parseSeq(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('must be the SEQ of a line, such as 51.')
  return Number(text)
}

/** Both digits of the cents are asked for: "25" could be meant as either, and money is at stake. */
export function parseDollars(text: string): number {
  const [, whole, cents] = /^(\d{1,12})\.(\d{2})$/.exec(text) ?? []
  if (whole === undefined) throw new InvalidArgumentError('must be dollars and cents, such as 250.00.')
  return Number(whole) * 100 + Number(cents)
}

export function parseSignedDollars(text: string): number {
  return text.startsWith('-') ? -parseDollars(text.slice(1)) : parseDollars(text)
}
