import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { hashToken, newToken } from './session-store.ts'

const MINUTE_MS = 60_000

/** Which actions wait for a second step, and for how long. The table refuses every other kind. */
const VALID_MS = {
  /** The password was right. */
  'second-factor': 10 * MINUTE_MS,
  'passkey-sign-in': 5 * MINUTE_MS,
  'passkey-step-up': 5 * MINUTE_MS,
  'new-passkey': 5 * MINUTE_MS,
  'company-sign-in': 10 * MINUTE_MS,
  'reset-password': 60 * MINUTE_MS,
  'verify-email': 24 * 60 * MINUTE_MS,
} as const

export type OneTimeKind = keyof typeof VALID_MS

export interface OneTimeValue {
  /** Null: the person is not known yet. */
  readonly person_id: string | null
  /** What the second step is checked against, such as the challenge of a passkey. */
  readonly value: string | null
}

/** For the cookie that holds a token. */
export const secondsValid = (kind: OneTimeKind) => VALID_MS[kind] / 1000

/** Returns a token for a cookie or a mail. Only its hash is stored. */
export async function issueToken(
  db: Queryable,
  kind: OneTimeKind,
  { person_id = null, value = null }: Partial<OneTimeValue>,
  nowMs: number,
): Promise<string> {
  const token = newToken()
  await db.run(sql`
    insert into one_time_values (token_hash, kind, person_id, value, expires_at)
    values (${hashToken(token)}, ${kind}, ${person_id}, ${value}, ${new Date(nowMs + VALID_MS[kind])})`)
  return token
}

/** What a token is for, without using it up. */
export const findToken = (db: Queryable, kind: OneTimeKind, token: string, nowMs: number) =>
  db.maybeOne<OneTimeValue>(sql`
    select person_id, value
      from one_time_values
     where token_hash = ${hashToken(token)}
       and kind = ${kind}
       and used_at is null
       and expires_at > ${new Date(nowMs)}`)

/**
 * Uses a token up: of two requests with the same one the second gets undefined. The row stays until it expires, because the audit
 * row of this transaction may depend on it (functions/sessions/person_is_here.sql).
 */
export const takeToken = (db: Queryable, kind: OneTimeKind, token: string, nowMs: number) =>
  db.maybeOne<OneTimeValue>(sql`
    update one_time_values
       set used_at = ${new Date(nowMs)}
     where token_hash = ${hashToken(token)}
       and kind = ${kind}
       and used_at is null
       and expires_at > ${new Date(nowMs)}
 returning person_id, value`)

/** Sign-ins that wait for the second factor, and links to choose a new password. */
export const forgetPending = (tx: Tx, person_id: string) =>
  tx.run(sql`
    delete from one_time_values
     where person_id = ${person_id}
       and kind in ('second-factor', 'reset-password')`)
