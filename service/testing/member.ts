import { createMemberAct, type MemberAct } from '../src/dashboard/act.ts'
import type { Member } from '../src/dashboard/member.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import type { TestDatabase } from './database.ts'

/** A person as the edge hands them to an area, after it has checked session, role and second factor. */
export const memberOf = (account_id: string, facts: Partial<Member> = {}): Member => ({
  person_id: 'person_ada',
  person_name: 'Ada',
  email: 'ada@example.com',
  account_id,
  role: 'owner',
  session_id: 'ses_test',
  address: '192.0.2.7',
  request_id: 'req_test',
  ...facts,
})

/** Gives the person of this member what an audit row in their name asks for: a place in the account and a session. */
export async function signIn(database: Pick<TestDatabase, 'asOwner'>, member: Member): Promise<Member> {
  const { person_id, account_id, role } = member
  await database.asOwner(`
    insert into people (id, name, email, created_at, updated_at)
    values ('${person_id}', '${member.person_name}', '${person_id}@example.com', now(), now())
        on conflict do nothing;
    insert into memberships (account_id, person_id, role, created_at) values ('${account_id}', '${person_id}', '${role}', now())
        on conflict do nothing;
    insert into sessions (token_hash, id, person_id, account_id, created_at, last_seen_at, expires_at, address, user_agent)
    values (sha256('${person_id}'), 'ses_${person_id}', '${person_id}', null, now(), now(), now() + interval '1 hour', '', '')
        on conflict do nothing`)
  return member
}

/** Acts of people as the dashboard's role, who are signed in before the first. */
export function memberAct(database: TestDatabase, clock: Clock = systemClock): MemberAct {
  const act = createMemberAct(database.dashboard, clock)
  const signedIn = new Set<string>()
  return async (member, ...rest) => {
    const who = `${member.person_id} ${member.account_id}`
    if (!signedIn.has(who)) await signIn(database, member)
    signedIn.add(who)
    return act(member, ...rest)
  }
}

type Handler<Reply> = (call: never) => Promise<Reply>

/** Calls one handler of an area as this person. */
export function callAs<Reply>(
  member: Member,
  handler: Handler<Reply>,
  given: { id?: string; body?: unknown; query?: unknown; nowMs?: number } = {},
): Promise<Reply> {
  const call = { member, id: '', query: undefined, body: undefined, nowMs: Date.now(), ...given }
  return handler(call as unknown as never)
}
