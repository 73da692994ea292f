import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import {
  ACCOUNT_HEADER,
  ACCOUNT_PARAMETER,
  CSRF_HEADER,
  type DashboardRoute,
  dashboardRoutes,
  type Role,
} from '@shopwire/contract/dashboard'
import { type DashboardHandlers, dashboardFamily } from '../src/edge/dashboard/dashboard-family.ts'
import { createEdge } from '../src/edge/server.ts'
import { webFamily } from '../src/edge/web/web-family.ts'
import type { WebFiles } from '../src/edge/web/web-files.ts'
import { createOperator } from '../src/operations/operator.ts'
import { createLoadShedding, type LoadSheddingOptions } from '../src/platform/batching/load-shedding.ts'
import { systemClock } from '../src/platform/clock.ts'
import { type Db, sql } from '../src/platform/database/db.ts'
import type { Keyring } from '../src/platform/encryption/encryption.ts'
import { readOwnKey } from '../src/platform/encryption/own-key.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { newId } from '../src/platform/text/ids.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { COOKIES, csrfTokenOf } from '../src/sessions/cookies.ts'
import { createSessions, type Sessions } from '../src/sessions/index.ts'
import { CREDENTIAL, insertCredential } from '../src/sessions/people.ts'
import { createSession } from '../src/sessions/session-store.ts'
import { openTestDatabase } from './database.ts'
import { ask, type RawAnswer, requestBytes } from './raw-http.ts'
import { createAdmission, type Shop, testKeyring } from './shop.ts'

export const ORIGIN = 'https://dashboard.example'

export interface DashboardOptions {
  readonly table?: readonly DashboardRoute[]
  readonly files?: WebFiles
  pictureOrigins?(): readonly string[]
  readonly log?: { write(line: string): void }
  readonly requestsPerMinute?: number
  /** More than any test sends at once, unless given. */
  readonly load?: Pick<LoadSheddingOptions, 'inFlightMax' | 'ownMax'>
  /** Whose database it shows; otherwise it has an empty one of its own. */
  readonly shop?: Shop
  handlers(parts: {
    db: Db
    sessions: Sessions
    keyring: Keyring
  }): Partial<DashboardHandlers> | Promise<Partial<DashboardHandlers>>
}

/** A person with a session, and what their browser sends. */
export interface SignedInBrowser {
  readonly person_id: string
  readonly session_id: string
  readonly cookie: string
  readonly csrf: string
  /** The account that its page shows, whatever the session is switched to; null for a person without one. */
  readonly account_id: string | null
}

/** The dashboard's HTTP surface on a real port and a real database, as its own role; people and sessions are made without signing in. */
export async function openDashboard(options: DashboardOptions) {
  const database = options.shop?.database ?? (await openTestDatabase())
  const { dashboard: db } = database
  const limits = { idleMs: 30 * 60_000, absoluteMs: 12 * 3_600_000 }
  const keyring = options.shop?.keyring ?? testKeyring()
  const sessions = await createSessions({
    db,
    keyring,
    log: createLog('silent'),
    origin: ORIGIN,
    limits,
  })
  const key = await readOwnKey(db, keyring, 'dashboard')
  const admission = createAdmission('postgres', database.operator)
  const operator = createOperator(
    { db: database.operator, keyring, clock: systemClock, cell: 'c1', admission: async () => admission },
    'test',
  )
  const metrics = createMetrics('test', ['dashboard'])
  const handlers = await options.handlers({ db, sessions, keyring })
  const edge = createEdge(
    {
      log: options.log ? createLog('debug', options.log) : createLog('silent'),
      metrics,
      connectionsMax: 10_000,
      connectionsPerAddressMax: 0,
    },
    [
      dashboardFamily(
        {
          clock: systemClock,
          metrics,
          load: createLoadShedding({
            ...(options.load ?? { inFlightMax: 10_000 }),
            lagMs: () => 0,
            onShed: (reason) => metrics.requestsShed.inc({ reason }),
          }),
          sessions,
          origin: ORIGIN,
          isStrict: true,
          requestsPerMinute: options.requestsPerMinute ?? 1_000_000,
          addressOf: ({ socket }) => socket.remoteAddress ?? '',
        },
        handlers as DashboardHandlers,
        options.table ?? dashboardRoutes.filter(({ name }) => name in handlers),
      ),
      webFamily({
        origin: ORIGIN,
        files: options.files ?? new Map(),
        pictureOrigins: options.pictureOrigins ?? (() => []),
      }),
    ],
  )
  await edge.listen({ host: '127.0.0.1', port: 0 })
  const { port } = edge.server.address() as AddressInfo
  return {
    database,
    handlers,
    db,
    operator,
    keyring,
    metrics,
    port,
    async signIn(
      account_id: string | null,
      role: Role = 'owner',
      { isSteppedUp = false, hasPassword = false } = {},
    ): Promise<SignedInBrowser> {
      const nowMs = Date.now()
      const person_id = newId('per', nowMs)
      const now = new Date(nowMs)
      await database.owner.run(sql`
        insert into people (id, name, email, email_verified, created_at, updated_at)
        values (${person_id}, 'Ada', ${`${person_id}@example.com`}, true, ${now}, ${now})`)
      if (hasPassword)
        await insertCredential(
          db,
          { person_id, provider: CREDENTIAL, subject: person_id, password_hash: 'of a password' },
          nowMs,
        )
      if (account_id !== null) {
        await database.owner.run(sql`
          insert into memberships (account_id, person_id, role, created_at)
          values (${account_id}, ${person_id}, ${role}, ${now})`)
      }
      const { token, id } = await createSession(
        db,
        { person_id, account_id, address: '192.0.2.1', user_agent: 'test', isSteppedUp },
        limits,
        nowMs,
      )
      return {
        person_id,
        session_id: id,
        cookie: `${COOKIES.session}=${token}`,
        csrf: csrfTokenOf(key, token),
        account_id,
      }
    },
    /** Somebody who has opened the page and not signed in. */
    visitor() {
      const token = randomBytes(32).toString('base64url')
      return { cookie: `${COOKIES.visitor}=${token}`, csrf: csrfTokenOf(key, token) }
    },
    async close() {
      await edge.close()
      await admission.close()
      if (!options.shop) await database.close()
    },
  }
}

export type TestDashboard = Awaited<ReturnType<typeof openDashboard>>

export interface Sent {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly id?: string
  /** Over the headers of a browser; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** Sends what a browser with an open page of the dashboard sends for this route. */
export function sendRoute(
  port: number,
  route: DashboardRoute,
  browser: (Pick<SignedInBrowser, 'cookie' | 'csrf'> & Partial<SignedInBrowser>) | undefined,
  { query, body, id = '', headers = {} }: Sent = {},
): Promise<RawAnswer> {
  const isPost = route.method === 'POST'
  const bytes = body === undefined ? '' : JSON.stringify(body)
  const shown = shownBy(route, browser?.account_id)
  const sent: Record<string, string | undefined> = {
    'Sec-Fetch-Site': 'same-origin',
    ...(browser && { Cookie: browser.cookie }),
    ...shown.headers,
    ...(isPost && {
      Origin: ORIGIN,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(bytes)),
      ...(browser && { [CSRF_HEADER]: browser.csrf }),
    }),
    ...headers,
  }
  const defined = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const search = new URLSearchParams({ ...query, ...shown.query })
  const target = `${route.path.replace('{id}', id)}${search.size > 0 ? `?${search}` : ''}`
  return ask(port, requestBytes(route.method, target, Object.fromEntries(defined), bytes))
}

/** How a page names the account that it shows to this route: in a header, or in the query of a file or stream. */
export function shownBy(
  { reply }: Pick<DashboardRoute, 'reply'>,
  account_id: string | null | undefined,
): { readonly headers: Record<string, string>; readonly query: Record<string, string> } {
  if (!account_id) return { headers: {}, query: {} }
  return reply
    ? { headers: { [ACCOUNT_HEADER]: account_id }, query: {} }
    : { headers: {}, query: { [ACCOUNT_PARAMETER]: account_id } }
}

/** The type of a refusal; undefined when the answer is none. */
export function refusalOf({ body }: RawAnswer): string | undefined {
  try {
    return JSON.parse(body).error?.type
  } catch {
    return undefined
  }
}
