import type { Home } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import { type Place, selectFirstDelivered } from './home-queries.ts'

/** When the first signed request and the first quote of an account were seen; null when there was none. */
export interface FirstCalls {
  readonly call_at: Date | null
  readonly quote_at: Date | null
}

/** How many orders are searched for the first delivered one; an account with more is past its first steps. */
const FIRST_ORDERS = 100

/** The steps that remain before the first delivered order; null once there is one. A later step counts as proof of the earlier ones. */
export async function readChecklist(
  tx: Tx,
  account_id: string,
  place: Place,
  firstCalls: () => Promise<FirstCalls>,
): Promise<Home['checklist']> {
  if (place.order_count > FIRST_ORDERS) return null
  if (place.order_count > 0 && (await selectFirstDelivered(tx, account_id, FIRST_ORDERS))) return null
  const first = await selectFirstSteps(tx, account_id)
  const { call_at, quote_at } = await firstCalls()
  const item = await selectCheapestItem(tx)
  const isBought = first.order_id !== null
  const called = call_at ?? quote_at ?? first.attempt_at ?? first.order_at
  return {
    key: { ...step(first.key_at), key_id: first.key_id, key_name: first.key_name },
    call: step(called),
    quote: step(quote_at, isBought || quote_at !== null),
    webhook: step(first.webhook_at),
    order: { ...step(first.order_at), order_id: first.order_id },
    delivered: step(null),
    item: item ?? null,
  }
}

const step = (done_at: Date | null, isDone = done_at !== null) => ({
  is_done: isDone,
  done_at: done_at?.toISOString() ?? null,
})

interface FirstSteps {
  readonly key_id: string | null
  readonly key_name: string | null
  readonly key_at: Date | null
  readonly webhook_at: Date | null
  readonly order_id: string | null
  readonly order_at: Date | null
  readonly attempt_at: Date | null
}

const selectFirstSteps = (db: Queryable, account_id: string) =>
  db.one<FirstSteps>(sql`
    select k.id as key_id, k.name as key_name, k.created_at as key_at, w.created_at as webhook_at, o.id as order_id,
           o.created_at as order_at, a.at as attempt_at
      from (select 1) one
      left join lateral (select id, name, created_at
                           from api_keys
                          where account_id = ${account_id}
                          order by revoked_at is not null, created_at
                          limit 1) k on true
      left join lateral (select created_at
                           from webhook_endpoints
                          where account_id = ${account_id}
                            and ended_at is null) w on true
      left join lateral (select id, created_at
                           from orders
                          where account_id = ${account_id}
                          order by id
                          limit 1) o on true
      left join lateral (select at
                           from order_attempts
                          where account_id = ${account_id}
                          limit 1) a on true`)

const selectCheapestItem = (db: Queryable) =>
  db.maybeOne<{ id: string; name: string; price_cents: number }>(sql`
    select id, name, price_cents
      from items
     where is_for_sale
       and has_supply
       and price_cents > 0
       and (available_until is null or available_until > clock_timestamp())
     order by price_cents, id
     limit 1`)
