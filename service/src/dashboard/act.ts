import type { Clock } from '../platform/clock.ts'
import { inAccount } from '../platform/database/account-scope.ts'
import { type Acted, act } from '../platform/database/act.ts'
import { type Db, sql, type Tx } from '../platform/database/db.ts'
import type { Member } from './member.ts'

/** With the values before and after the action, for the audit log. */
export interface MemberActed<Result> extends Omit<Acted<Result>, 'details'> {
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
}

export type MemberAct = <Result>(
  member: Member,
  action: string,
  work: (tx: Tx, nowMs: number) => Promise<MemberActed<Result>>,
) => Promise<Result>

/**
 * Runs an action of a person in one transaction of their account, with its audit record, so that both are committed or neither is.
 * The actions of one account run one at a time, so that a count that an action checks before it adds a row still holds when it adds
 * it.
 */
export function createMemberAct(db: Db, clock: Clock): MemberAct {
  return (member, action, work) =>
    inAccount(db, member.account_id, async (tx) => {
      await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`acts ${member.account_id}`}, 0))`)
      const who = {
        actor: `person:${member.person_id}`,
        action,
        account_id: member.account_id,
        address: member.address,
        request_id: member.request_id,
      }
      return act(tx, who, async () => {
        const { before, after, ...acted } = await work(tx, clock.nowMs())
        return {
          ...acted,
          details: { name: member.person_name, ...(before && { before }), ...(after && { after }) },
        }
      })
    })
}
