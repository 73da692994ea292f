import { type Queryable, sql } from './db.ts'
import { newId } from './ids.ts'

export interface AuditEntry {
  /** Who did it: `cli:<name>`, later a signed-in person. */
  readonly actor: string
  /** What was done, as `thing.verb`. */
  readonly action: string
  /** What it was done to. */
  readonly target: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Written in the transaction of the deed itself: neither is ever there without the other. */
export async function recordAction(tx: Queryable, entry: AuditEntry, nowMs: number): Promise<void> {
  await tx.run(sql`
    insert into audit_log (id, at, actor, action, target, details)
    values (${newId('aud', nowMs)}, ${new Date(nowMs)}, ${entry.actor}, ${entry.action}, ${entry.target},
            ${JSON.stringify(entry.details ?? {})})`)
}

export interface AuditRow extends Required<AuditEntry> {
  readonly id: string
  readonly at: Date
}

/** Newest first, all of them or those of one target. */
export function listActions(db: Queryable, target: string | undefined, limit: number): Promise<AuditRow[]> {
  return db.many<AuditRow>(sql`
    select id, at, actor, action, target, details
      from audit_log
     where ${target ?? null}::text is null
        or target = ${target ?? null}
     order by id desc
     limit ${limit}`)
}
