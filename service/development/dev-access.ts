import { loadDashboardConfig } from '../src/config/config.ts'
import { sql } from '../src/platform/database/db.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { openDatabaseFrom, openKeyringFrom } from '../src/programs/wiring.ts'
import { COOKIES, setCookie } from '../src/sessions/cookies.ts'
import { selectAccountsOf, selectPersonByEmail } from '../src/sessions/people.ts'
import { createSession } from '../src/sessions/session-store.ts'
import { secretBinding } from '../src/webhooks/endpoint.ts'

export type DevAccess = ReturnType<typeof openDevAccess>

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/**
 * What `npm run dev` does that a real store must never offer: signing in without a password, and reading the secrets of webhooks. It
 * is in no program of the service, and refuses every environment but development.
 */
export function openDevAccess(env: Readonly<Record<string, string | undefined>>, workerUrl: string) {
  const config = loadDashboardConfig(env)
  if (config.SHOPWIRE_ENV !== 'development')
    throw new Error('This access is for SHOPWIRE_ENV=development: a real store has people who sign in.')
  const log = createLog('silent')
  const dashboard = openDatabaseFrom(config, 'shopwire-dev', log)
  const worker = openDatabaseFrom({ ...config, SHOPWIRE_DATABASE_URL: workerUrl }, 'shopwire-dev', log)
  const keyring = openKeyringFrom(config)
  const limits = {
    idleMs: config.SHOPWIRE_SESSION_IDLE_MINUTES * MINUTE_MS,
    absoluteMs: config.SHOPWIRE_SESSION_HOURS * HOUR_MS,
  }
  return {
    /** A new session of this person, as the value of Set-Cookie; undefined when there is no such person. */
    async signIn(email: string, from: { address: string; user_agent: string }): Promise<string | undefined> {
      const person = await selectPersonByEmail(dashboard, email)
      if (!person) return undefined
      const [account] = await selectAccountsOf(dashboard, person.id)
      const wanted = { person_id: person.id, account_id: account?.id ?? null, ...from, isSteppedUp: true }
      const { token } = await createSession(dashboard, wanted, limits, Date.now())
      return setCookie(COOKIES.session, token, limits.absoluteMs / 1000)
    },

    /** Accounts whose events go to this URL, with the secrets that sign them now. */
    async receiversAt(url: string): Promise<{ name: string; secrets: string[] }[]> {
      const rows = await worker.many<{
        account_id: string
        name: string
        id: string
        secret_sealed: Buffer
      }>(sql`
        select a.id as account_id, a.name, s.id, s.secret_sealed
          from webhook_endpoints e
          join accounts a on a.id = e.account_id
          join webhook_secrets s on s.account_id = e.account_id and (s.ends_at is null or s.ends_at > clock_timestamp())
         where e.url = ${url}
           and e.ended_at is null
         order by a.id, s.id desc`)
      const byAccount = Map.groupBy(rows, ({ name }) => name)
      return Promise.all(
        [...byAccount].map(async ([name, secrets]) => ({
          name,
          secrets: await Promise.all(
            secrets.map(({ account_id, id, secret_sealed }) =>
              keyring.open(secret_sealed, secretBinding(account_id, id)),
            ),
          ),
        })),
      )
    },

    async close(): Promise<void> {
      await Promise.all([dashboard.close(), worker.close()])
    },
  }
}
