import { InvalidArgumentError } from 'commander'

/** For options; 0 and up. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
