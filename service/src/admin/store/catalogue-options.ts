import { InvalidArgumentError, Option } from 'commander'
import { fileFormats } from '../../catalogue/file/file-items.ts'
import { PRICE_BOUNDS } from '../../operations/actions/catalogue-actions.ts'
import { servedWithinMs } from '../../operations/reads/catalogue-reads.ts'
import type { CommandContext } from '../terminal/command-context.ts'

/** Waits until every API process serves the change. Returns false without waiting when that may take long. */
export async function untilServed({ pause }: CommandContext, changes: number): Promise<boolean> {
  const ms = servedWithinMs(changes)
  if (ms) await pause(ms)
  return ms !== undefined
}

/** For scripts too: a price that lacks a digit is sold within seconds. */
export const priceFactorOption = () =>
  new Option('--price-factor-max <n>', 'refuse a price that changes by more than this factor, up or down')
    .argParser(parseFactor)
    .default(PRICE_BOUNDS.factorMax)

function parseFactor(text: string): number {
  if (!/^[1-9]\d{0,6}(\.\d{1,2})?$/.test(text))
    throw new InvalidArgumentError('must be a number from 1, such as 12.')
  return Number(text)
}

export function parsePercent(text: string): number {
  const percent = Number(text)
  if (!/^\d{1,3}$/.test(text) || percent > 100) throw new InvalidArgumentError('must be 0 to 100.')
  return percent
}

export function formatOption(description: string): Option {
  return new Option('--format <format>', description).choices(fileFormats)
}
