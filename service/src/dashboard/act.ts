import type { Clock } from '../platform/clock.ts'
import { inAccount } from '../platform/database/account-scope.ts'
import { recordAction } from '../platform/database/audit.ts'
import { type Db, sql, type Tx } from '../platform/database/db.ts'
import type { Member } from './member.ts'

/** The result of an action, and what the audit log says about it. Never a secret or a link. */
export interface MemberActionResult<Result> {
  readonly result: Result
  readonly target: string
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  /** Comes after the audit row: what ends the person's own access to the account. */
  readonly last?: () => Promise<unknown>
}

export type MemberAct = <Result>(
  member: Member,
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<MemberActionResult<Result>>,
) => Promise<Result>

/**
 * Runs an action of a person in one transaction of their account, with its audit record: both are committed, or neither. The actions of one
 * account wait for each other, so that what an action counts before it adds one more is still so when it does.
 */
export function createMemberAct(db: Db, clock: Clock): MemberAct {
  return (member, action, work) =>
    inAccount(db, member.account_id, async (tx) => {
      await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`acts ${member.account_id}`}, 0))`)
      const nowMs = clock.nowMs()
      const { result, target, before, after, last } = await work(tx, nowMs)
      await recordAction(tx, {
        actor: `person:${member.person_id}`,
        action,
        target,
        account_id: member.account_id,
        address: member.address,
        request_id: member.request_id,
        details: { name: member.person_name, ...(before && { before }), ...(after && { after }) },
      })
      await last?.()
      return result
    })
}
