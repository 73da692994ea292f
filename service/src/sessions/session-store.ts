import { createHash, randomBytes } from 'node:crypto'
import type { Role } from '@shopwire/contract/dashboard'
import { type Queryable, sql } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import type { SignedIn } from './signed-in.ts'

export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
}

/** The data for a new session. */
export interface NewSession {
  readonly person_id: string
  readonly account_id: string | null
  readonly address: string
  readonly user_agent: string
  /** A second factor was used just now. */
  readonly isSteppedUp: boolean
}

export const STEP_UP_MS = 5 * 60_000
const TOKEN_BYTES = 32
/** How often the time of a session's last request is written. Shorter than the shortest idle time. */
const SEEN_EVERY_MS = 30_000
const USER_AGENT_LENGTH_MAX = 300

export const newToken = () => randomBytes(TOKEN_BYTES).toString('base64url')

/** Stored in place of a token that somebody else has. */
export const hashToken = (token: string) => createHash('sha256').update(token).digest()

/** Returns the token, which exists nowhere else. */
export async function createSession(
  tx: Queryable,
  session: NewSession,
  limits: SessionLimits,
  nowMs: number,
  expiresMs = nowMs + limits.absoluteMs,
): Promise<{ token: string; id: string }> {
  const [token, id, now] = [newToken(), newId('ses', nowMs), new Date(nowMs)]
  await tx.run(sql`
    insert into sessions (token_hash, id, person_id, account_id, created_at, last_seen_at, expires_at, stepped_up_at, address,
                          user_agent)
    values (${hashToken(token)}, ${id}, ${session.person_id}, ${session.account_id}, ${now}, ${now}, ${new Date(expiresMs)},
            ${session.isSteppedUp ? now : null}, ${session.address}, ${session.user_agent.slice(0, USER_AGENT_LENGTH_MAX)})`)
  return { token, id }
}

interface SessionRow {
  readonly id: string
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly kind: 'customer' | 'operator'
  readonly email_verified: boolean
  readonly must_enrol: boolean
  readonly account_id: string | null
  readonly account_name: string | null
  readonly role: Role | null
  readonly last_seen_at: Date
  readonly expires_at: Date
  readonly stepped_up_at: Date | null
}

/**
 * The session of a token, with the person's present role: read from the database every time, so that a removed person is out with
 * the next request. A person with a password must have a second factor, and an operator a passkey; for a company's own sign-in that
 * company decides.
 */
export async function findSession(
  db: Queryable,
  token: string,
  limits: SessionLimits,
  nowMs: number,
  { isActivity = true } = {},
): Promise<SignedIn | undefined> {
  const row = await db.maybeOne<SessionRow>(sql`
    select s.id, s.person_id, p.name, p.email, p.kind, p.email_verified, a.id as account_id, a.name as account_name, a.role,
           s.last_seen_at, s.expires_at, s.stepped_up_at,
           not exists (select from passkeys k where k.person_id = p.id)
             and (p.kind = 'operator'
                  or not p.has_totp
                     and exists (select from credentials c
                                  where c.person_id = p.id
                                    and c.password_hash is not null)) as must_enrol
      from sessions s
      join people p on p.id = s.person_id
      left join lateral accounts_of_person(s.person_id) a on a.id = s.account_id
     where s.token_hash = ${hashToken(token)}`)
  if (!row) return undefined
  const expires_at_ms = row.expires_at.getTime()
  const idleEndMs = row.last_seen_at.getTime() + limits.idleMs
  if (nowMs >= expires_at_ms || nowMs >= idleEndMs) {
    await db.run(sql`delete from sessions where id = ${row.id}`)
    return undefined
  }
  const isSeen = isActivity && nowMs >= row.last_seen_at.getTime() + SEEN_EVERY_MS
  if (isSeen) await db.run(sql`update sessions set last_seen_at = ${new Date(nowMs)} where id = ${row.id}`)
  return {
    session_id: row.id,
    person: {
      id: row.person_id,
      name: row.name,
      email: row.email,
      kind: row.kind,
      is_email_verified: row.email_verified,
    },
    account:
      row.account_id !== null && row.account_name !== null && row.role !== null
        ? { id: row.account_id, name: row.account_name, role: row.role }
        : null,
    must_enrol: row.must_enrol,
    stepped_up_until_ms: row.stepped_up_at && row.stepped_up_at.getTime() + STEP_UP_MS,
    expires_at_ms,
    idle_expires_at_ms: isSeen ? nowMs + limits.idleMs : idleEndMs,
  }
}

/** A session, its person, and the account in which it acts. */
export interface SessionInAccount {
  readonly session_id: string
  readonly person_id: string
  readonly account_id: string
}

/**
 * Which of these sessions still exist, are in the account, and belong to a person who is still a member. For open streams, many at
 * a time.
 */
export async function stillSignedIn<One extends SessionInAccount>(
  db: Queryable,
  sessions: readonly One[],
  limits: SessionLimits,
  nowMs: number,
): Promise<ReadonlySet<One>> {
  const people = sessions.map((one) => one.person_id)
  const accounts = sessions.map((one) => one.account_id)
  const rows = await db.many<PageName>(sql`
    select s.id as session_id, m.account_id
      from unnest(${sessions.map((one) => one.session_id)}::text[], ${people}::text[], ${accounts}::text[])
             as asked (session_id, person_id, account_id)
      join sessions s
        on s.id = asked.session_id and s.person_id = asked.person_id and s.account_id = asked.account_id
      join still_members(${people}::text[], ${accounts}::text[]) m
        on m.person_id = asked.person_id and m.account_id = asked.account_id
     where s.expires_at > ${new Date(nowMs)}
       and s.last_seen_at > ${new Date(nowMs - limits.idleMs)}`)
  const open = new Set(rows.map(keyOfPage))
  return new Set(sessions.filter((one) => open.has(keyOfPage(one))))
}

type PageName = Pick<SessionInAccount, 'session_id' | 'account_id'>

/** A session that was switched a moment ago has open pages of both accounts. */
export const keyOfPage = ({ session_id, account_id }: PageName) => `${session_id} ${account_id}`

/**
 * Moves the session to a new token, when what it may do changes: the old token stops working. It does not extend the session.
 * Undefined when the session was ended meanwhile.
 */
export async function rotateSession(
  tx: Queryable,
  session_id: string,
  { isSteppedUp }: { isSteppedUp: boolean },
  nowMs: number,
): Promise<string | undefined> {
  const token = newToken()
  const count = await tx.run(sql`
    update sessions
       set token_hash = ${hashToken(token)},
           stepped_up_at = case when ${isSteppedUp} then ${new Date(nowMs)}::timestamptz else stepped_up_at end,
           last_seen_at = ${new Date(nowMs)}
     where id = ${session_id}`)
  return count === 1 ? token : undefined
}

export const setSessionAccount = (tx: Queryable, session_id: string, account_id: string) =>
  tx.run(sql`update sessions set account_id = ${account_id} where id = ${session_id}`)

export const endSession = (tx: Queryable, person_id: string, session_id: string) =>
  tx.run(sql`delete from sessions where id = ${session_id} and person_id = ${person_id}`)

/** All sessions of a person, except one if it is named. */
export const endSessionsOf = (tx: Queryable, person_id: string, keptId: string | null) =>
  tx.run(sql`delete from sessions where person_id = ${person_id} and id is distinct from ${keptId}`)

/** Sessions in which no second factor was ever given, except one. */
export const endSessionsWithoutFactor = (tx: Queryable, person_id: string, keptId: string) =>
  tx.run(
    sql`delete from sessions where person_id = ${person_id} and id <> ${keptId} and stepped_up_at is null`,
  )

export interface ListedSession {
  readonly id: string
  readonly address: string
  readonly user_agent: string
  readonly created_at: Date
  readonly last_seen_at: Date
}

export const listSessions = (db: Queryable, person_id: string, limits: SessionLimits, nowMs: number) =>
  db.many<ListedSession>(sql`
    select id, address, user_agent, created_at, last_seen_at
      from sessions
     where person_id = ${person_id}
       and expires_at > ${new Date(nowMs)}
       and last_seen_at > ${new Date(nowMs - limits.idleMs)}
     order by last_seen_at desc, id desc
     limit 200`)

/** Deletes everything that has expired. Call it now and then. */
export async function deleteExpired(db: Queryable, nowMs: number): Promise<void> {
  const now = new Date(nowMs)
  await db.run(sql`delete from sessions where expires_at < ${now}`)
  await db.run(sql`delete from sign_in_attempts where window_started_at < ${new Date(nowMs - 86_400_000)}`)
  await db.run(sql`delete from one_time_values where expires_at < ${now}`)
}
