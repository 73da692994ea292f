import type { Admission } from '../access/admission.ts'
import { withMismatchCheck } from '../access/admission-in-use.ts'
import { liveCatalogue } from '../catalogue/live-catalogue.ts'
import type { DashboardConfig } from '../config/config.ts'
import { createMemberAct } from '../dashboard/act.ts'
import { catalogueArea } from '../dashboard/catalogue.ts'
import { findArea } from '../dashboard/find/find.ts'
import { homeArea } from '../dashboard/home/home.ts'
import { homeSources } from '../dashboard/home/home-sources.ts'
import { keysArea } from '../dashboard/keys/keys.ts'
import { createTokenEvents } from '../dashboard/keys/token-events.ts'
import { tokensArea } from '../dashboard/keys/tokens.ts'
import { createLive } from '../dashboard/live/live.ts'
import { moneyArea } from '../dashboard/money/money.ts'
import { ordersArea } from '../dashboard/orders/orders.ts'
import { auditArea } from '../dashboard/team/audit.ts'
import { mailArea } from '../dashboard/team/mail.ts'
import { createMailOwners } from '../dashboard/team/mail-owners.ts'
import { teamArea } from '../dashboard/team/team.ts'
import { viewsArea } from '../dashboard/views/views.ts'
import { deliveriesArea } from '../dashboard/webhooks/deliveries.ts'
import { webhookArea } from '../dashboard/webhooks/webhook.ts'
import type { DashboardHandlers } from '../edge/dashboard/dashboard-family.ts'
import { VERSION } from '../installation.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { Log } from '../platform/observability/log.ts'
import { operatorFetch } from '../platform/outbound/operator-fetch.ts'
import { createSessions } from '../sessions/index.ts'
import { createLinkVault } from '../supply/gift-link.ts'
import { checkWebhookUrl } from '../webhooks/url-rules.ts'
import { fundingOptionsOf } from './money-wiring.ts'
import { networksOf, openAdmissionFrom } from './wiring.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

export interface AreaDeps {
  /** As the dashboard's role. */
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly log: Log
}

/** Everything that answers a route of the dashboard's API. */
export async function mountAreas(config: DashboardConfig, { db, clock, keyring, log }: AreaDeps) {
  const limits = {
    idleMs: config.SHOPWIRE_SESSION_IDLE_MINUTES * MINUTE_MS,
    absoluteMs: config.SHOPWIRE_SESSION_HOURS * HOUR_MS,
  }
  const origin = config.SHOPWIRE_DASHBOARD_ORIGIN
  const sessions = await createSessions({ db, keyring, log, origin, limits, ...companyFrom(config) })
  const warn = (what: string) => (error: unknown) => log.warn({ err: error }, `${what}; it is retried`)
  const onLiveError = warn('changes for open pages could not be read')
  const live = createLive({ db, clock, sessions, onError: onLiveError })
  const onEventsError = warn('events for command lines could not be read')
  const tokenEvents = createTokenEvents({ db, keyring, clock, onError: onEventsError })
  const catalogue = liveCatalogue(db, warn('the catalogue could not be refreshed'))
  await catalogue.open()
  const networks = networksOf(config)
  let opened: Promise<Admission> | undefined
  const shared = {
    db,
    keyring,
    log,
    act: createMemberAct(db, clock),
    catalogue,
    checkUrl: (url: string, account_id: string) => checkWebhookUrl(url, account_id, networks),
    mailOwners: createMailOwners(keyring),
    vault: createLinkVault(db, keyring),
    installation: { version: VERSION, docs_url: new URL('/docs/', config.SHOPWIRE_API_URL).href },
    sources: homeSources,
    cell: config.SHOPWIRE_CELL,
    ...whoSells(config),
    apiUrl: config.SHOPWIRE_API_URL,
    origin,
    /** Opened when the first key is revoked: API processes keep their own. */
    async admission() {
      opened ??= openAdmissionFrom(config, db, log)
      return withMismatchCheck(await opened, db, config.SHOPWIRE_ADMISSION)
    },
  }
  /** One line per area. A route that none of them answers is a type error. */
  const handlers: DashboardHandlers = {
    ...sessions.area,
    ...auditArea(shared),
    ...catalogueArea(shared),
    ...deliveriesArea(shared),
    ...findArea(shared),
    ...homeArea(shared),
    ...keysArea(shared),
    ...live.area,
    ...mailArea(shared),
    ...ordersArea(shared),
    ...teamArea({ ...shared, onLeft: live.endOf }),
    ...tokensArea(shared),
    ...viewsArea(shared),
    ...webhookArea(shared),
    ...moneyArea({ ...shared, attempts: sessions.attempts, funding: fundingOptionsOf(config) }),
  }
  return {
    sessions,
    live,
    tokenEvents,
    handlers,
    pictureOrigins: () => catalogue.snapshot.pictureOrigins(),
    async close() {
      catalogue.close()
      await sessions.settled()
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}

const whoSells = ({ SHOPWIRE_CONTACT: contact, SHOPWIRE_SELLER: seller }: DashboardConfig) => ({
  contact,
  seller,
})

function companyFrom(config: DashboardConfig) {
  const {
    SHOPWIRE_OIDC_ISSUER: issuer,
    SHOPWIRE_OIDC_CLIENT_ID: client_id,
    SHOPWIRE_OIDC_CLIENT_SECRET: client_secret,
    SHOPWIRE_OIDC_NAME: name,
    SHOPWIRE_OIDC_EMAIL_DOMAINS: email_domains,
  } = config
  if (!issuer || !client_id || !client_secret || !name || !email_domains) return {}
  const isInsecureAllowed = config.SHOPWIRE_ENV === 'development'
  const fetch = operatorFetch(config.SHOPWIRE_EGRESS_PROXY, networksOf(config))
  return { company: { name, issuer, client_id, client_secret, email_domains, isInsecureAllowed, fetch } }
}
