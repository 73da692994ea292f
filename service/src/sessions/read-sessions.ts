import type { KeyObject } from 'node:crypto'
import type { Queryable } from '../platform/db.ts'
import { COOKIES, csrfTokenOf, readCookie } from './cookies.ts'
import { findSession, type SessionLimits, stillSignedIn } from './session-store.ts'
import type { SignedIn } from './signed-in.ts'

/** Who sent a request, as far as its cookies tell. */
export interface Visitor {
  readonly signed_in: SignedIn | undefined
  /** What a page of this visitor sends with every action. Undefined: no page was given one, so no action is taken. */
  readonly csrf_token: string | undefined
}

/** What the edge and the live streams need of sessions. */
export interface SessionReads {
  /** From the Cookie header as sent. Session, membership and role are read from the database, every time. */
  identify(cookie: string | undefined, nowMs: number): Promise<Visitor>
  /** The ids of those of these sessions that have not ended, and whose person is still a member of the account. */
  stillOpen(sessions: readonly OpenSession[], nowMs: number): Promise<ReadonlySet<string>>
}

export interface OpenSession {
  readonly session_id: string
  readonly person_id: string
  readonly account_id: string
}

/** Of the sessions in the database. `key` makes the CSRF tokens. */
export function readSessions(db: Queryable, limits: SessionLimits, key: KeyObject): SessionReads {
  return {
    async identify(cookie, nowMs) {
      const token = readCookie(cookie, COOKIES.session)
      const signed_in = token === undefined ? undefined : await findSession(db, token, limits, nowMs)
      const bearer = signed_in ? token : readCookie(cookie, COOKIES.visitor)
      return { signed_in, csrf_token: bearer === undefined ? undefined : csrfTokenOf(key, bearer) }
    },
    stillOpen: (sessions, nowMs) => stillSignedIn(db, sessions, limits, nowMs),
  }
}
