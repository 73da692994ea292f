import { createHash } from 'node:crypto'
import { type Db, type Queryable, sql } from '../platform/database/db.ts'
import { newId, newSecret } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'
import { tidyEmail } from '../sessions/people.ts'
import type { Act } from './actions/act.ts'
import { assertEmail } from './actions/people-actions.ts'

export interface OperatorTokenRow {
  readonly id: string
  readonly email: string
  readonly added_by: string
  readonly created_at: Date
  readonly expires_at: Date
  readonly revoked_at: Date | null
}

export interface NewOperator {
  readonly email: string
  readonly days: number
  /** Added by an operator who could not be identified: refused once there is one who can be. */
  readonly isFirst: boolean
}

export const OPERATOR_TOKEN_DAYS_MAX = 365
/** The alert uses the same value: deploy/monitoring/rules/processes.yml. */
export const OPERATOR_TOKEN_DAYS_WARNED = 7
const DAY_MS = 86_400_000
const TOKEN_FORM = /^swo_[A-Za-z0-9_-]{43}$/
/** Held while the first operator is added, so that there cannot be two first operators. */
const FIRST_LOCK_ID = 5_348_094_774

/** What operators may do to the tokens that identify them. */
export function operatorTokenActions(actor: string, act: Act) {
  return {
    /** The token exists only in this result. */
    addOperator: ({ email: given, days, isFirst }: NewOperator) =>
      act('operators.add', async (tx, nowMs) => {
        assertEmail(given)
        if (isFirst) await assertNobodyYet(tx)
        const token = newSecret('swo')
        const [id, email] = [newId('opt', nowMs), tidyEmail(given)]
        const expires_at = new Date(nowMs + days * DAY_MS)
        await tx.run(sql`
          insert into operator_tokens (id, email, token_hash, added_by, created_at, expires_at)
          values (${id}, ${email}, ${hashOf(token)}, ${actor}, ${new Date(nowMs)}, ${expires_at})`)
        return {
          result: { id, email, expires_at, token, is_first: isFirst },
          target: id,
          details: { email, expires_at, is_first: isFirst },
        }
      }),

    /** Revokes all tokens of the address. */
    revokeOperator: (given: string, reason: string) =>
      act('operators.revoke', async (tx, nowMs) => {
        const email = tidyEmail(given)
        const now = new Date(nowMs)
        const revoked = await tx.many<{ id: string }>(sql`
          update operator_tokens
             set revoked_at = ${now}
           where email = ${email}
             and revoked_at is null
             and expires_at > ${now}
          returning id`)
        if (revoked.length === 0) throw refuse('not_found', `${email} has no token that could be used.`)
        const ids = revoked.map(({ id }) => id)
        return { result: { email, revoked: ids }, target: email, details: { reason, revoked: ids } }
      }),
  }
}

/** Newest first. */
export function listOperatorTokens(db: Queryable): Promise<OperatorTokenRow[]> {
  return db.many<OperatorTokenRow>(sql`
    select id, email, added_by, created_at, expires_at, revoked_at
      from operator_tokens
     order by id desc`)
}

export type TokenInUse = Pick<OperatorTokenRow, 'email' | 'expires_at'>

/** The owner of the token; undefined when it is unknown, has expired or was revoked. */
export async function findOperatorToken(
  db: Db,
  token: string,
  nowMs: number,
): Promise<TokenInUse | undefined> {
  if (!TOKEN_FORM.test(token)) return undefined
  return db.maybeOne<TokenInUse>(sql`
    select email, expires_at
      from operator_tokens
     where token_hash = ${hashOf(token)}
       and revoked_at is null
       and expires_at > ${new Date(nowMs)}`)
}

/** True also when all tokens have expired: otherwise somebody could wait for that and become the first operator again. */
async function assertNobodyYet(tx: Queryable): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(${FIRST_LOCK_ID})`)
  const [any] = await tx.many<{ id: string }>(sql`
    select id
      from operator_tokens
     limit 1`)
  if (any)
    throw refuse(
      'conflict',
      'This store has, or had, operators: only one of them can add another. Ask one for "shopwire-admin operators add <your address>", ' +
        'or set SHOPWIRE_OPERATOR_TOKEN_FILE to the file with your token. If nobody has a token that works, see "When all tokens ' +
        'have ended" in docs/operating.md. Nothing was done.',
    )
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
