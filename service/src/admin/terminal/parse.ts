import { InvalidArgumentError } from 'commander'
import { objectionToText } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'

const LIST_MAX = 1_000
const TEXT_LENGTH_MAX = 200

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

/** A reason or another text that will be printed in a terminal. */
export function parseText(text: string): string {
  const objection = objectionToText(text, TEXT_LENGTH_MAX)
  if (objection !== undefined) throw new InvalidArgumentError(`must have ${objection}.`)
  return text
}

/** Both digits of the cents are required: "25" could mean dollars or cents. */
export function parseDollars(text: string): number {
  const [, whole, cents] = /^(\d{1,12})\.(\d{2})$/.exec(text) ?? []
  if (whole === undefined) throw new InvalidArgumentError('must be dollars and cents, such as 250.00.')
  return Number(whole) * 100 + Number(cents)
}

export function parseSignedDollars(text: string): number {
  return text.startsWith('-') ? -parseDollars(text.slice(1)) : parseDollars(text)
}

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined || Number(count) === 0) {
    throw new InvalidArgumentError('must be a number and a unit, such as 30s, 90m, 2h or 7d.')
  }
  return Number(count) * (UNIT_MS[unit as string] as number)
}

/** An offset is required: without one, a time means something else on every machine. */
export function parseInstant(text: string): number {
  const ms = /T.*(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) {
    throw refuse(
      'invalid_request',
      `"${text}" is not a time such as 2026-12-24T22:00:00Z or 2026-12-24T23:00:00+01:00.`,
    )
  }
  return ms
}

export function parseCount(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('must be a whole number, such as 50.')
  return Number(text)
}
