import { createHmac, type KeyObject } from 'node:crypto'
import { type Queryable, sql } from '../platform/db.ts'

/** Longer than a code is accepted: its own 30 seconds and one step to each side. */
const BURNT_MS = 3 * 60_000

/**
 * Marks a code as used by this person before it is checked. Returns false when it was used before, right or wrong: of two requests
 * with the same code at most one can succeed.
 */
export async function burnCode(
  db: Queryable,
  key: KeyObject,
  person_id: string,
  code: string,
  nowMs: number,
): Promise<boolean> {
  const hash = createHmac('sha256', key).update(`code:${person_id}:${code}`).digest()
  const count = await db.run(sql`
    insert into used_codes as u (person_id, code_hash, expires_at)
    values (${person_id}, ${hash}, ${new Date(nowMs + BURNT_MS)})
        on conflict (person_id, code_hash) do update
       set expires_at = excluded.expires_at
     where u.expires_at < ${new Date(nowMs)}`)
  return count === 1
}
