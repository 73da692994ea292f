import { KEY_UNUSED_HOURS_SAFE } from '@shopwire/contract/dashboard'
import { selectAlert } from '../../funding/balance-alert.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import { selectKeyHours, selectKeys } from '../keys/keys-queries.ts'
import type { FirstCalls } from './checklist.ts'
import type { HomeSources } from './home.ts'

const HOUR_MS = 3_600_000
const KEYS_MAX = 100
/** For how long the requests of a replacing key are counted. */
const REPLACED_MS = 30 * 24 * HOUR_MS

/** What the home page shows of other areas. */
export const homeSources: HomeSources = {
  alertCents: async (tx, account_id) => (await selectAlert(tx, account_id))?.threshold_cents ?? null,

  firstCalls: selectFirstCalls,

  async attention(tx, { person_id, account_id }, nowMs) {
    const { has_second_factor } = await selectSecondFactor(tx, person_id)
    return [
      ...(has_second_factor ? [] : [{ kind: 'second_factor_missing' as const }]),
      ...(await readUnusedKeys(tx, account_id, nowMs)),
    ]
  },
}

/** Keys that were replaced and have not been used for a day. */
async function readUnusedKeys(tx: Queryable, account_id: string, nowMs: number) {
  const unusedBefore = nowMs - KEY_UNUSED_HOURS_SAFE * HOUR_MS
  const keys = (await selectKeys(tx, account_id, null, KEYS_MAX)).filter(
    ({ revoked_at, replaced_by, last_used_at }) =>
      revoked_at === null && replaced_by !== null && (last_used_at?.getTime() ?? 0) <= unusedBefore,
  )
  if (keys.length === 0) return []
  const replacing = keys.flatMap(({ replaced_by }) => replaced_by ?? [])
  const used = await selectKeyHours(tx, account_id, replacing, new Date(nowMs - REPLACED_MS))
  return keys.map(({ id, name, created_at, last_used_at, replaced_by }) => ({
    kind: 'key_safe_to_revoke' as const,
    key_id: id,
    key_name: name,
    unused_since: (last_used_at ?? created_at).toISOString(),
    replacement_requests:
      used.find(({ key_id }) => key_id === replaced_by)?.requests.reduce((all, n) => all + n, 0) ?? 0,
  }))
}

/** Written by API processes some seconds later. A key without an address was last used before addresses were recorded, if at all. */
function selectFirstCalls(db: Queryable, account_id: string) {
  return db.one<FirstCalls>(sql`
    select coalesce((select min(last_used_at) from key_usage where account_id = ${account_id}),
                    min(last_used_at) filter (where last_address is not null)) as call_at,
           min(first_quote_at) as quote_at
      from key_last_uses
     where account_id = ${account_id}`)
}

/** A passkey counts as a second factor. */
const selectSecondFactor = (db: Queryable, person_id: string) =>
  db.one<{ has_second_factor: boolean }>(sql`
    select exists (select from people where id = ${person_id} and has_totp)
        or exists (select from passkeys where person_id = ${person_id}) as has_second_factor`)
