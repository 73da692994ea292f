import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookConfiguration, WebhookHealth } from '@shopwire/contract'
import { type WebhookPage, webhookEventNames, type webhookRoutes } from '@shopwire/contract/dashboard'
import { eventKinds, exampleEvent } from '@shopwire/contract/published'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import {
  ENDPOINT_SETTLE_MS,
  endPreviousSecret,
  queueExample,
  queueTest,
  readHealth,
  rotateSecret,
  secretBinding,
  setEndpoint,
  stopEndpoint,
} from '../../webhooks/endpoint.ts'
import { selectRecent } from '../../webhooks/notices.ts'
import { earliestAttemptsS } from '../../webhooks/schedule.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import type { Member } from '../member.ts'
import type { MailOwners } from '../team/mail-owners.ts'
import { endedMail, rotatedMail, stoppedMail, urlMail } from './webhook-mails.ts'
import {
  type EndpointFacts,
  type SigningSecretRow,
  selectEndpointFacts,
  selectEventsSeen,
  selectSigningSecrets,
} from './webhook-queries.ts'

export interface WebhookDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly keyring: Keyring
  readonly mailOwners: MailOwners
  /** Returns the normalised URL, or refuses and says why. */
  checkUrl(url: string, account_id: string): Promise<string>
}

/** The account's webhook endpoint and its signing secret. */
export const webhookArea = (deps: WebhookDeps): Area<typeof webhookRoutes> => {
  const read = (member: Member) =>
    inAccount(deps.db, member.account_id, (tx) => readPage(tx, deps.keyring, member))

  const kinds = eventKinds().map(({ usual, ...kind }) => ({
    ...kind,
    example: exampleEvent(kind.type, usual),
  }))

  return {
    getWebhook: ({ member }) => read(member),

    async setWebhook({ member, body }) {
      const { account_id } = member
      const url = body.url === null ? null : await deps.checkUrl(body.url, account_id)
      const change = await deps.act(
        member,
        url === null ? 'webhook.stop' : 'webhook.set',
        async (tx, nowMs) => {
          const before = await readHealth(tx, account_id)
          const after: WebhookConfiguration =
            url === null
              ? await stopEndpoint(tx, account_id, nowMs)
              : await setEndpoint(tx, deps.keyring, { ...setBy(member), url }, nowMs)
          const isChanged = before.webhook_url !== after.webhook_url
          if (isChanged) {
            const mail = url === null ? stoppedMail(before) : urlMail(before, url)
            await deps.mailOwners(tx, member, mail, nowMs)
          }
          return {
            result: { isChanged, secret: after.secret },
            target: 'webhook',
            before: { url: withoutQuery(before.webhook_url), pending: before.pending },
            after: { url: withoutQuery(after.webhook_url) },
          }
        },
      )
      // Nothing was queued for a first endpoint.
      if (change.isChanged && change.secret === undefined) await sleep(ENDPOINT_SETTLE_MS)
      const page = await read(member)
      return change.secret === undefined ? { page } : { page, secret: change.secret }
    },

    testWebhook: ({ member }) =>
      deps.act(member, 'webhook.test', async (tx, nowMs) => {
        await refuseWithoutUrl(tx, member)
        const event_id = await queueTest(tx, member.account_id, nowMs)
        return { result: { event_id }, target: event_id }
      }),

    async listEventKinds() {
      return { kinds }
    },

    sendExampleEvent: ({ member, body: { type } }) =>
      deps.act(member, 'webhook.send_example', async (tx, nowMs) => {
        const { account_id } = member
        await refuseWithoutUrl(tx, member)
        const event_id = await queueExample(
          tx,
          deps.keyring,
          account_id,
          (head) => exampleEvent(type, head),
          nowMs,
        )
        return { result: { event_id }, target: event_id, after: { type } }
      }),

    async rotateSecret({ member }) {
      const secret = await deps.act(member, 'webhook.rotate_secret', async (tx, nowMs) => {
        const [old] = await hints(tx, deps.keyring, member.account_id)
        const result = await rotateSecret(tx, deps.keyring, member.account_id, nowMs)
        await deps.mailOwners(tx, member, rotatedMail(), nowMs)
        return {
          result,
          target: 'webhook',
          before: { secret: `…${old?.hint ?? ''}` },
          after: { secret: `…${hintOf(result)}` },
        }
      })
      return { page: await read(member), secret }
    },

    async endPreviousSecret({ member }) {
      await deps.act(member, 'webhook.end_previous_secret', async (tx, nowMs) => {
        const [, previous] = await hints(tx, deps.keyring, member.account_id)
        if (!previous || !(await endPreviousSecret(tx, member.account_id, nowMs)))
          throw refuse('conflict', 'Only one secret signs now: the previous one has already ended.')
        await deps.mailOwners(tx, member, endedMail(previous.hint), nowMs)
        return {
          result: undefined,
          target: 'webhook',
          before: { previous_secret: `…${previous.hint}` },
          after: { previous_secret: null },
        }
      })
      return { page: await read(member) }
    },
  }
}

async function refuseWithoutUrl(tx: Tx, { account_id }: Member): Promise<void> {
  const { webhook_url } = await readHealth(tx, account_id)
  if (webhook_url === null)
    throw refuse('webhook_not_configured', 'There is no URL to send a test to. Set one first.')
}

const setBy = ({ account_id, person_id, person_name }: Member) => ({
  account_id,
  set_by: `person:${person_id}`,
  set_by_name: person_name,
})

async function readPage(tx: Tx, keyring: Keyring, member: Member): Promise<WebhookPage> {
  const { account_id, role } = member
  const health = await readHealth(tx, account_id)
  const facts = await selectEndpointFacts(tx, account_id)
  const seen = await selectEventsSeen(tx, account_id, webhookEventNames)
  const events_seen = seen.map(({ type, last_at }) => ({ type, last_at: last_at.toISOString() }))
  const schedule_s = earliestAttemptsS()
  const none = { attempts: 0, failed: 0 }
  if (!facts) {
    return {
      state: 'none',
      health,
      retrying: 0,
      set_at: null,
      set_by: null,
      secret: null,
      recent: none,
      alerted_percent: null,
      schedule_s,
      events_seen,
    }
  }
  const recent = await selectRecent(tx, { account_id, endpoint_id: facts.endpoint_id })
  const [current, previous] = await hints(tx, keyring, account_id)
  const isBuilder = role === 'owner' || role === 'developer'
  return {
    state: stateOf(health, facts, recent),
    // The query string may contain a token of the receiver.
    health: isBuilder ? health : { ...health, webhook_url: withoutQuery(health.webhook_url) },
    retrying: facts.retrying,
    set_at: facts.created_at.toISOString(),
    set_by: presentSetBy(facts),
    secret: current
      ? {
          hint: current.hint,
          created_at: current.created_at.toISOString(),
          previous_ends_at: previous?.ends_at?.toISOString() ?? null,
          previous_hint: previous?.hint ?? null,
        }
      : null,
    recent,
    alerted_percent: facts.alerted_percent === 0 ? null : facts.alerted_percent,
    schedule_s,
    events_seen,
  }
}

const FAILING_SHARE = 0.5

function stateOf(
  { pending, last_delivered_at, last_failure_at }: WebhookHealth,
  { is_suspended, retrying, alerted_percent }: EndpointFacts,
  recent: { attempts: number; failed: number },
): WebhookPage['state'] {
  if (is_suspended) return 'suspended'
  if (last_delivered_at === null && last_failure_at === null) return 'unused'
  const failedLast =
    last_failure_at !== null && (last_delivered_at === null || last_failure_at > last_delivered_at)
  if (failedLast && (alerted_percent > 0 || recent.failed >= recent.attempts * FAILING_SHARE))
    return 'failing'
  return failedLast || (pending > 0 && retrying > 0) ? 'retrying' : 'healthy'
}

function presentSetBy({ set_by, set_by_name, key_name, key_scopes, key_revoked_at }: EndpointFacts) {
  const [, person] = /^person:(.+)$/.exec(set_by) ?? []
  if (person !== undefined) {
    return {
      kind: 'person' as const,
      id: person,
      name: set_by_name,
      is_revoked: false,
      lacks_orders_read: false,
    }
  }
  const isKey = key_scopes !== null
  return {
    kind: isKey ? ('key' as const) : ('operator' as const),
    id: set_by,
    name: key_name,
    is_revoked: key_revoked_at !== null,
    lacks_orders_read: isKey && !key_scopes.includes('orders:read'),
  }
}

type Hint = SigningSecretRow & { readonly hint: string }

async function hints(tx: Tx, keyring: Keyring, account_id: string): Promise<Hint[]> {
  const rows = await selectSigningSecrets(tx, account_id)
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      hint: hintOf(await keyring.open(row.secret_sealed, secretBinding(account_id, row.id))),
    })),
  )
}

const HINT_LENGTH = 4

function hintOf(secret: string): string {
  return secret.slice(-HINT_LENGTH)
}

/** The query string of a receiver's URL may contain a token. */
export function withoutQuery(url: string | null): string | null {
  if (url === null) return null
  const at = url.indexOf('?')
  return at < 0 ? url : `${url.slice(0, at)}?…`
}
