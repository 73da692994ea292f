import { parseArgs } from 'node:util'
import { Shopwire } from '@shopwire/sdk'
import { readBooks } from './books.ts'
import { compare } from './compare.ts'

/**
 * Exits with 0 when everything agrees, 1 when something differs, and 2 when the comparison failed, so that monitoring
 * can distinguish them.
 */
const USAGE = 'Usage: reconcile.ts [--days 2] [--grace-minutes 5] [--paid-minutes 60] orders.csv|orders.db'
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      days: { type: 'string', default: '2' },
      'grace-minutes': { type: 'string', default: '5' },
      'paid-minutes': { type: 'string', default: '60' },
    },
  })
  const [path] = positionals
  if (path === undefined) throw new Error(USAGE)
  const nowMs = Date.now()
  const { compared, differences } = await compare(new Shopwire(), readBooks(path), {
    sinceMs: nowMs - amount(values.days) * DAY_MS,
    untilMs: nowMs - amount(values['grace-minutes']) * MINUTE_MS,
    paidSinceMs: nowMs - amount(values['paid-minutes']) * MINUTE_MS,
  })
  for (const { kind, id, text } of differences) console.log(`${kind.padEnd(19)} ${id}  ${text}`)
  console.log(`${compared} orders of ours compared, ${differences.length} differences`)
  process.exitCode = differences.length > 0 ? 1 : 0
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}

function amount(text: string): number {
  const value = Number(text)
  if (!(value >= 0)) throw new Error(`${text} is not a number`)
  return value
}
