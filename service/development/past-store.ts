import type { IncomingMessage } from 'node:http'
import { type ErrorType, errorTypes, type OrderRequest, type OrderStatus } from '@shopwire/contract'
import type { Role } from '@shopwire/contract/dashboard'
import { createKeyUsage } from '../src/access/key-usage.ts'
import { getAccount } from '../src/accounts/account.ts'
import { readCatalogueFile } from '../src/catalogue/file/catalogue-file.ts'
import { selectRevision } from '../src/catalogue/queries.ts'
import { loadConfig, loadDashboardConfig, loadSchemaUrl } from '../src/config/config.ts'
import { createMemberAct } from '../src/dashboard/act.ts'
import type { Member } from '../src/dashboard/member.ts'
import type { DashboardHandlers } from '../src/edge/dashboard/dashboard-family.ts'
import { VERSION } from '../src/installation.ts'
import { createOperator } from '../src/operations/operator.ts'
import { composeEvent } from '../src/orders/fulfilment/compose-event.ts'
import { createFulfilment } from '../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../src/orders/fulfilment/fulfil-queue.ts'
import { createEvidenceWriter } from '../src/orders/placing/evidence.ts'
import { hashCart, type Outcome, placeOrder } from '../src/orders/placing/place-order.ts'
import { callPlaceOrder, type NewOrder } from '../src/orders/queries.ts'
import { sql } from '../src/platform/database/db.ts'
import { verifyEncryptionKeys } from '../src/platform/encryption/key-checks.ts'
import { MAIL_QUEUE } from '../src/platform/mail/mail-queue.ts'
import { createLog } from '../src/platform/observability/log.ts'
import type { GuardedClient } from '../src/platform/outbound/guarded-client.ts'
import { newId } from '../src/platform/text/ids.ts'
import { Refusal } from '../src/platform/trouble.ts'
import { mountAreas } from '../src/programs/dashboard-areas.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { openAdmissionFrom, openDatabaseFrom, openKeyringFrom } from '../src/programs/wiring.ts'
import { createInvitation } from '../src/sessions/invitations.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import { announceCatalogue } from '../src/webhooks/announce.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/deliver-queue.ts'
import { readHealth, setEndpoint } from '../src/webhooks/endpoint.ts'
import { openPastAudit } from './past-audit.ts'

export type { Member } from '../src/dashboard/member.ts'
export type { Sent } from '../src/platform/outbound/guarded-client.ts'

/** A request with an API key, as its caller sent it. */
export interface KeyCall {
  readonly account_id: string
  readonly key_id: string
  readonly address: string
}

export interface PastStoreOptions {
  /** The operator's, with the URLs of the dashboard and of the owner. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly apiUrl: string
  readonly workerUrl: string
  readonly actor: string
  /** The receivers of events, in place of the network. */
  openClient(account_id: string): GuardedClient
  random(): number
}

export type PastStore = Awaited<ReturnType<typeof openPastStore>>

/**
 * A store with a clock of its own, which makes the history of a development store: every step is done by the code that does it in a
 * real one, with the login of the process that does it, at a time in the past. Nothing of the service imports this. One caller at a time.
 */
export async function openPastStore({ env, apiUrl, workerUrl, actor, ...world }: PastStoreOptions) {
  const config = loadConfig(env)
  if (config.SHOPWIRE_ENV !== 'development')
    throw new Error('A history is made up only with SHOPWIRE_ENV=development: a real store has its own.')
  let nowMs = Date.now()
  const clock = { nowMs: () => nowMs }
  const log = createLog('silent')
  const metrics = createMetrics(VERSION, ['worker', 'api'])
  const dashboardConfig = loadDashboardConfig(env)
  const open = (SHOPWIRE_DATABASE_URL: string) =>
    openDatabaseFrom({ ...config, SHOPWIRE_DATABASE_URL }, 'shopwire-past', log)
  const api = open(apiUrl)
  const worker = open(workerUrl)
  const owner = open(loadSchemaUrl('migrate', env))
  const audit = await openPastAudit(owner, clock.nowMs)
  const admin = audit.of(open(config.SHOPWIRE_DATABASE_URL))
  const dashboard = audit.of(open(dashboardConfig.SHOPWIRE_DASHBOARD_DATABASE_URL))
  const keyring = openKeyringFrom(config)
  await verifyEncryptionKeys(admin, keyring)
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const admission = await openAdmissionFrom(config, admin, log)
  const areas = await mountAreas(dashboardConfig, { db: dashboard, clock, keyring, log })
  const origin = dashboardConfig.SHOPWIRE_DASHBOARD_ORIGIN
  const operator = createOperator(
    {
      db: admin,
      clock,
      keyring,
      cell: config.SHOPWIRE_CELL,
      admission: async () => admission,
      dashboardOrigin: origin,
    },
    actor,
  )
  const act = createMemberAct(dashboard, clock)
  const evidence = createEvidenceWriter(api, { log, metrics })
  const usage = createKeyUsage(api, { addressOf: (request) => String(request.headers['x-demo']), log })
  const obtain = async () => ({ kind: 'not yet', note: 'there are no suppliers here' }) as const
  const fulfilOrder = createFulfilment({ db: worker, vault, clock, log, metrics, obtain })
  const deliver = createDelivery({
    db: worker,
    keyring,
    clock,
    openClient: (_url, _options, { account_id }) => world.openClient(account_id),
    log,
    metrics,
    notify: async () => {},
    compose: (event) => composeEvent(worker, vault, event),
    random: world.random,
  })
  const messageFrom = (address: string) =>
    ({ headers: { 'x-demo': address }, socket: {} }) as unknown as IncomingMessage
  const jobOf = (account_id: string, queue: string, subject: string) => ({
    account_id,
    queue,
    subject,
    // Nobody has claimed it: this is the only worker.
    attempts: 0,
    created_at: new Date(nowMs),
    is_failing: false,
    is_backlog: false,
    failures: 0,
  })

  return {
    setTime(ms: number) {
      nowMs = ms
    },
    nowMs: clock.nowMs,
    newRequestId: () => newId('req', nowMs),
    operator,
    handlers: areas.handlers as DashboardHandlers,

    /** Writes down what API processes write together. */
    async flush(): Promise<void> {
      await evidence.flush()
      await usage.flush()
    },

    /** As the dashboard does it. Returns the link, which a person would find in their mail. */
    invite: (member: Member, { email, role }: { email: string; role: Role }): Promise<string> =>
      act(member, 'team.invite', async (tx) => {
        const { id: account_id, name: account_name } = await getAccount(tx, member.account_id)
        const inviter = { id: member.person_id, name: member.person_name }
        const wanted = { account_id, account_name, email, role, inviter, is_mailed_only: true }
        const { invitation, link } = await createInvitation(tx, { keyring, origin }, wanted, nowMs)
        return { result: link, target: invitation.id, after: { email, role } }
      }),

    /** As the dashboard does it, except that the receiver's name need not exist. */
    setWebhook: (member: Member, url: string): Promise<void> =>
      act(member, 'webhook.set', async (tx) => {
        const { account_id, person_id, person_name } = member
        const before = await readHealth(tx, account_id)
        const setBy = { set_by: `person:${person_id}`, set_by_name: person_name }
        await setEndpoint(tx, keyring, { account_id, url, ...setBy }, nowMs)
        return {
          result: undefined,
          target: 'webhook',
          before: { url: before.webhook_url, pending: before.pending },
          after: { url },
        }
      }),

    /** A signed request that reads something; `links` of an order if it read those. */
    async read({ address, ...who }: KeyCall, links?: { order_id: string; links: number }): Promise<void> {
      usage.request(who, messageFrom(address), nowMs)
      if (!links) return
      const request_id = newId('req', nowMs)
      const answer = { request_id, at_ms: nowMs, client_address: address, status: 200, refused: null }
      evidence.add({ ...who, ...answer, isSent: true, read: links })
    },

    async buy({ address, ...who }: KeyCall, request: OrderRequest): Promise<Outcome | Refusal> {
      const { access_version } = await api.one<{ access_version: number }>(sql`
        select access_version
          from accounts
         where id = ${who.account_id}`)
      const [request_id, request_hash] = [newId('req', nowMs), hashCart(request.items)]
      usage.request(who, messageFrom(address), nowMs)
      const origin = { request_hash, request_id, client_address: address }
      const readmit = async (): Promise<never> => {
        throw new Error('the account changed while it was buying')
      }
      const place = (order: NewOrder) => callPlaceOrder(api, order)
      const outcome = await placeOrder(
        place,
        { ...who, access_version },
        request,
        origin,
        nowMs,
        readmit,
      ).catch((error: unknown) => {
        if (error instanceof Refusal) return error
        throw error
      })
      const isRefused = outcome instanceof Refusal
      if (!isRefused && outcome.kind === 'bought') usage.order(who, messageFrom(address), nowMs)
      evidence.add({
        ...who,
        request_id,
        at_ms: nowMs,
        client_address: address,
        attempt: { idempotency_key: request.idempotency_key, request_hash },
        ...(!isRefused && outcome.kind === 'bought' && { bought_order_id: outcome.order.id }),
        status: isRefused
          ? errorTypes[outcome.type as ErrorType].status
          : outcome.kind === 'bought'
            ? 201
            : 200,
        refused: isRefused ? outcome.type : null,
        isSent: true,
      })
      return outcome
    },

    orderStatus: (account_id: string, order_id: string) =>
      api.one<{ status: OrderStatus }>(sql`
        select status
          from orders
         where account_id = ${account_id}
           and id = ${order_id}`),

    /** What a worker does with a paid order. */
    async fulfil(account_id: string, order_id: string): Promise<void> {
      await fulfilOrder(jobOf(account_id, FULFIL_QUEUE, order_id))
    },

    /** Sends what is due of an account's events; returns when the next attempt is due, if one is. */
    async deliver(account_id: string): Promise<number | undefined> {
      const endpoint = await worker.maybeOne<{ id: string }>(sql`
        select e.id
          from webhook_endpoints e
         where e.account_id = ${account_id}
           and e.ended_at is null
           and exists (select from deliveries d
                        where d.account_id = e.account_id
                          and d.endpoint_id = e.id
                          and d.state = 'pending')`)
      if (!endpoint) return undefined
      const end = await deliver(jobOf(account_id, DELIVER_QUEUE, endpoint.id))
      return end.kind === 'again' ? nowMs + end.waitMs : undefined
    },

    /** The file is not the whole catalogue: other items stay as they are. */
    async importItems(items: readonly object[]): Promise<void> {
      const file = readCatalogueFile(Buffer.from(JSON.stringify(items)), 'json')
      const options = { isPartial: true, allowRemovals: false }
      await operator.importCatalogue(file.items, 'catalogue.json', options)
    },

    /** Writes catalogue.changed for every account with an endpoint. */
    async announceCatalogue(): Promise<void> {
      const { revision } = await selectRevision(worker)
      await announceCatalogue(worker, revision, nowMs)
    },

    /** The history begins here, so what is kept of requests and events does too. Only the owner of the schema may say so. */
    async keepRecordsSince(since: Date): Promise<void> {
      await owner.run(sql`update evidence_retention set kept_since = ${since}`)
      await owner.run(sql`update event_retention set kept_since = ${since}`)
    },

    /** Mail from before this time is not sent: it reports what was long ago. */
    dropMail: (before: Date) =>
      worker.run(sql`
        with dropped as (
          delete from jobs where queue = ${MAIL_QUEUE} and created_at < ${before} returning subject
        )
        delete from outgoing_mail where id in (select subject from dropped)`),

    async close(): Promise<void> {
      await evidence.stop()
      await usage.stop()
      await areas.close()
      await admission.close()
      await audit.close()
      await Promise.all([api, worker, admin, dashboard, owner].map((db) => db.close()))
    },
  }
}
