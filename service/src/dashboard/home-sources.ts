import { type Queryable, sql } from '../platform/db.ts'
import type { HomeSources } from './home.ts'

/** What the home page shows of other areas. */
export const homeSources: HomeSources = {
  alertCents: async () => null,
  firstCalls: async () => ({ call_at: null, quote_at: null }),
  async attention(tx, { person_id }) {
    const { has_second_factor } = await selectSecondFactor(tx, person_id)
    return has_second_factor ? [] : [{ kind: 'second_factor_missing' }]
  },
}

/** A passkey is one by itself. */
const selectSecondFactor = (db: Queryable, person_id: string) =>
  db.one<{ has_second_factor: boolean }>(sql`
    select exists (select from people where id = ${person_id} and has_totp)
        or exists (select from passkeys where person_id = ${person_id}) as has_second_factor`)
