import type { Member } from '../src/dashboard/member.ts'

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
