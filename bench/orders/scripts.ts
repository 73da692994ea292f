import type { BenchKey } from '../shared/bench-system.ts'
import { accountIdSql, cartSql, type ShopSize, timeDigitsSql } from '../shared/seed.ts'

/** A script of pgbench, and how it is driven. */
export interface Script {
  readonly name: string
  readonly connections: number
  readonly ordersPerCall: number
}

export interface ScriptShop {
  readonly size: ShopSize
  /** How many of the accounts have keys; they lie evenly among the others. */
  readonly buyers: number
  readonly keys: readonly BenchKey[]
}

/**
 * The captured statement for pgbench: each parameter becomes an expression that makes a fresh value. The service sends values
 * ready made, so this side does a little more.
 */
export function bareScript({ size, buyers, keys }: ScriptShop, statement: string): string {
  const perOrder = freshOrder(accountIdSql(`:buyer * ${size.accounts / buyers}`), keys)
  const parameters = [
    'true',
    ...perOrder.map((value) => `array[${value}]`),
    'array[3]',
    `array[${cartSql(':first', size.items).join(', ')}]`,
    'array[1, 1, 1]',
    'array[null, null, null]::bigint[]',
  ]
  const places = new Set(statement.match(/\$\d+/g))
  if (!statement.includes('place_orders(') || places.size !== parameters.length) {
    throw new Error(`the order statement is not the one this benchmark was written for:\n${statement}`)
  }
  const text = statement.replace(/\$(\d+)/g, (_, n) => parameters[Number(n) - 1] as string)
  return `\\set buyer random(1, ${buyers})\n${firstItem(size)}${text.trim().replace(/\s*\n\s*/g, ' ')};\n`
}

/**
 * The limit of placing orders together: the service's statement for many, driven bare. Every connection has accounts of its own, so
 * that none finds a balance held by another.
 */
export function batchedScript({ size, keys }: ScriptShop, { connections, ordersPerCall }: Script): string {
  const perConnection = Math.floor(size.accounts / connections)
  const apart = Math.floor(perConnection / ordersPerCall)
  const account = accountIdSql(
    `1 + :client_id * ${perConnection} + (:first + n * ${apart}) % ${perConnection}`,
  )
  const perOrder = [...freshOrder(account, keys), '3']
  const items = cartSql(`(:first + 7 * (l / 3)) % ${size.items}`, size.items)
  const perLine = [`(array[${items.join(', ')}])[l % 3 + 1]`, '1', 'null::bigint']
  const parameters = [
    'false',
    ...perOrder.map((value) => `array(select ${value} from generate_series(0, ${ordersPerCall - 1}) n)`),
    ...perLine.map((value) => `array(select ${value} from generate_series(0, ${3 * ordersPerCall - 1}) l)`),
  ]
  return `${firstItem(size)}select verdicts, order_ids, totals_cents, names, unit_prices_cents, details from place_orders(${parameters.join(', ')});\n`
}

const firstItem = ({ items }: ShopSize) => `\\set first random(0, ${items - 1})\n`

/** Both the time of the order and the one in its id; a script is one statement, so it does not move on. */
const NOW = `date_trunc('milliseconds', now())`
const id = (prefix: string) =>
  `'${prefix}_' || ${timeDigitsSql(`(extract(epoch from ${NOW}) * 1000)::bigint`)} || left(replace(gen_random_uuid()::text, '-', ''), 16)`

/** From the account to the caller's address, in the order of the function's parameters. */
function freshOrder(account: string, keys: readonly BenchKey[]): string[] {
  const [key] = keys as [BenchKey]
  return [
    account,
    `${key.access_version}::bigint`,
    `'${key.id}'`,
    id('ord'),
    id('evt'),
    NOW,
    'gen_random_uuid()::text',
    'sha256(gen_random_uuid()::text::bytea)',
    id('req'),
    `'203.0.113.7'`,
  ]
}
