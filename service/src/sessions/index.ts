import type { identityRoutes } from '@shopwire/contract/dashboard'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import { readOwnKey } from '../platform/encryption/own-key.ts'
import type { Log } from '../platform/observability/log.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { createAuthenticatorApps } from './authenticator-apps.ts'
import { type CompanySettings, createCompany } from './company.ts'
import type { IdentityContext } from './context.ts'
import { COOKIES, csrfTokenOf, readCookie } from './cookies.ts'
import type { IdentityArea } from './identity-call.ts'
import { createPasskeys } from './passkeys.ts'
import { createPasswords, type PasswordCost } from './passwords.ts'
import { alertAddressRoutes } from './routes/alert-address-routes.ts'
import { companyRoutes } from './routes/company-routes.ts'
import { factorRoutes } from './routes/factor-routes.ts'
import { invitationRoutes } from './routes/invitation-routes.ts'
import { securityRoutes } from './routes/security-routes.ts'
import { signInRoutes } from './routes/sign-in-routes.ts'
import { findSession, type SessionInAccount, type SessionLimits, stillSignedIn } from './session-store.ts'
import type { SignedIn } from './signed-in.ts'

export interface SessionsDeps {
  /** As the dashboard's role. */
  readonly db: Db
  readonly keyring: Keyring
  readonly log: Log
  /** The origin of the dashboard's pages, such as https://dashboard.example.com; without a slash at the end. */
  readonly origin: string
  readonly limits: SessionLimits
  readonly company?: CompanySettings
  /** Cheaper in tests that sign in a thousand times; never in a store. */
  readonly passwordCost?: PasswordCost
}

/** Who sent a request, as far as its cookies show. */
export interface Visitor {
  readonly signed_in: SignedIn | undefined
  /** The CSRF token that every action must carry. Undefined: no page has one yet, so no action is accepted. */
  readonly csrf_token: string | undefined
}

export interface Sessions {
  /** Reads the session, the membership and the role from the database, every time. */
  identify(cookie: string | undefined, nowMs: number): Promise<Visitor>
  /** The sessions that have not ended, and whose person is still a member of the account. For many open streams at a time. */
  stillOpen<One extends SessionInAccount>(sessions: readonly One[], nowMs: number): Promise<ReadonlySet<One>>
  /** One handler for every route of identity. */
  readonly area: IdentityArea<typeof identityRoutes>
  /** For other actions that send mail to an address that somebody typed. */
  readonly attempts: Pick<Attempts, 'count'>
  /** Resolves when all work after answers is done. */
  settled(): Promise<void>
}

const KEY_NAME = 'dashboard'

/** People, how they sign in, and their sessions. All other modules learn from `identify` who sent a request. */
export async function createSessions(deps: SessionsDeps): Promise<Sessions> {
  const { db, keyring, log, origin, limits } = deps
  const key = await readOwnKey(db, keyring, KEY_NAME)
  const underWay = new Set<Promise<void>>()
  const context: IdentityContext = {
    db,
    keyring,
    log,
    key,
    attempts: createAttempts(db, key),
    passwords: createPasswords(deps.passwordCost),
    passkeys: createPasskeys(origin),
    apps: createAuthenticatorApps(keyring),
    limits,
    origin,
    company: deps.company && createCompany(deps.company, origin),
    later(work) {
      const done = work()
        .catch((error: unknown) => log.error({ err: error }, 'work after an answer failed'))
        .finally(() => underWay.delete(done))
      underWay.add(done)
    },
  }
  return {
    async identify(cookie, nowMs) {
      const token = readCookie(cookie, COOKIES.session)
      const signed_in = token === undefined ? undefined : await findSession(db, token, limits, nowMs)
      const bearer = signed_in ? token : readCookie(cookie, COOKIES.visitor)
      return { signed_in, csrf_token: bearer === undefined ? undefined : csrfTokenOf(key, bearer) }
    },
    stillOpen: (sessions, nowMs) => stillSignedIn(db, sessions, limits, nowMs),
    area: {
      ...signInRoutes(context),
      ...securityRoutes(context),
      ...factorRoutes(context),
      ...invitationRoutes(context),
      ...companyRoutes(context),
      ...alertAddressRoutes(context),
    },
    attempts: context.attempts,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
