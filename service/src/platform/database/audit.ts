import { refuse } from '../trouble.ts'
import { type Queryable, sql } from './db.ts'

export interface AuditEntry {
  /**
   * Who did it: `operator:<address>` for an operator token; `platform:<name>` as the hosting platform reports; `cli:<name>` as the
   * machine reports or the user typed; `person:<id>` for somebody signed in to the dashboard; `worker:<rule>`.
   */
  readonly actor: string
  readonly action: string
  readonly target: string
  /** The account whose members see this row in their dashboard; without one only operators see it. */
  readonly account_id?: string
  /** Where the request came from, and its id; known for people who are signed in. */
  readonly address?: string
  readonly request_id?: string
  /** For people's actions with the values `before` and `after`. */
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Written in the transaction of the action, so that neither is stored without the other. A person who acts must still have access:
 * a member of the account with a live session or token, or somebody whose invitation or mailed link was used in this transaction.
 * The database checks this itself.
 */
export async function recordAction(tx: Queryable, entry: AuditEntry): Promise<void> {
  const writing = tx.one(sql`
    select write_audit_row(${entry.actor}, ${entry.action}, ${entry.target}, ${entry.account_id ?? null},
                           ${entry.address ?? null}, ${entry.request_id ?? null}, ${JSON.stringify(entry.details ?? {})})`)
  await writing.catch((error: { constraint?: string }) => {
    if (error.constraint !== 'person_is_here') throw error
    // Signed out or removed while the request was in progress.
    throw refuse(
      'sign_in_required',
      'Your session has ended, or you no longer belong to the account. Nothing was done. Sign in.',
    )
  })
}

export interface AuditRow extends Required<Pick<AuditEntry, 'actor' | 'action' | 'target' | 'details'>> {
  readonly id: string
  readonly at: Date
}

/** Newest first; all targets when none is given. */
export function listActions(db: Queryable, target: string | undefined, limit: number): Promise<AuditRow[]> {
  return db.many<AuditRow>(sql`
    select id, at, actor, action, target, details
      from audit_log
     where ${target ?? null}::text is null
        or target = ${target ?? null}
     order by id desc
     limit ${limit}`)
}
