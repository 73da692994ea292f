import { scopes as allScopes } from '@shopwire/contract'
import {
  getAccount,
  INVARIANTS,
  readCatalogueFile,
  readRules,
  refuse,
  setEndpoint,
  stopEndpoint,
  verifyData,
  webhookSecretBinding,
} from '@shopwire/service/embedded'
import {
  selectEndpoint,
  selectMissingLinks,
  selectOrders,
  selectPreviousSecretEnd,
  selectTransfers,
} from '../database/queries.ts'
import { ACCOUNT_ID, addAccount, setBalance } from '../database/seed.ts'
import { checkUrl } from '../deliveries/webhook-urls.ts'
import { madeUpLink, SUPPLIER } from '../store/fulfilment.ts'
import type { Store } from '../store/store.ts'
import type { CatalogueImported, EmulatedOrder, Key, LedgerTransfer, TimeAdvanced } from '../types.ts'

type Input = Readonly<Record<string, unknown>>

export interface Webhook {
  readonly url: string
  readonly secret: string
}

export interface RotatedWebhook extends Webhook {
  /** Until then events are also signed with the previous secret, in a separate header. */
  readonly previous_until: string
}

export interface Violation {
  readonly rule: string
  readonly what: string
  readonly violations: number
  readonly ids: readonly string[]
}

const BALANCE_CENTS_MAX = 100_000_000_00
const SECRET_LENGTH_MAX = 200

export type Actions = ReturnType<typeof createActions>

/** The actions of the control interface, with the parsed request bodies. */
export function createActions(store: Store, defaults: { readonly balanceCents: number }) {
  const { db, keyring, operator, keys } = store

  async function accountIn({ account_id = ACCOUNT_ID }: Input): Promise<string> {
    if (typeof account_id !== 'string') throw refuse('invalid_request', 'account_id is the id of an account.')
    return (await getAccount(db, account_id)).id
  }

  async function orderNamed(id: string): Promise<EmulatedOrder> {
    const [order] = await selectOrders(db, { id })
    if (!order) throw refuse('not_found', `There is no order ${id}.`)
    return order
  }

  async function webhookOf(account_id: string): Promise<Webhook | null> {
    const row = await selectEndpoint(db, account_id)
    if (!row) return null
    const secret = await keyring.open(row.secret_sealed, webhookSecretBinding(account_id, row.secret_id))
    return { url: row.url, secret }
  }

  return {
    webhookOf,

    statusOf: async (account_id: string) => (await getAccount(db, account_id)).status,

    async createAccount(input: Input): Promise<{ account_id: string; key: Key }> {
      const { name = 'Emulated' } = input
      if (typeof name !== 'string') throw refuse('invalid_request', 'name is text.')
      const balanceCents = centsIn(input.balance_cents ?? defaults.balanceCents)
      const made = await addAccount(operator, { name, balanceCents, scopes: scopesIn(input) })
      keys.add(made.account_id, made.key)
      return made
    },

    async createKey(input: Input): Promise<{ account_id: string; key: Key }> {
      const account_id = await accountIn(input)
      const { key, secret } = await operator.createKey(account_id, 'Emulated', scopesIn(input))
      const made = { account_id, key: { id: key.id, secret } }
      keys.add(account_id, made.key)
      return made
    },

    async revokeKey(id: string): Promise<{ account_id: string; key_id: string }> {
      const { account_id } = await operator.revokeKey(id)
      return { account_id, key_id: id }
    },

    async setStatus(input: Input): Promise<{ account_id: string; status: string }> {
      const account_id = await accountIn(input)
      if (input.status !== 'active' && input.status !== 'suspended')
        throw refuse('invalid_request', 'status is "active" or "suspended".')
      const { status } =
        input.status === 'active'
          ? await operator.resumeAccount(account_id)
          : await operator.suspendAccount(account_id, 'Suspended in the emulator.')
      return { account_id, status }
    },

    async setBalance(input: Input): Promise<{ account_id: string; balance_cents: number }> {
      const balance_cents = centsIn(input.balance_cents)
      const account_id = await accountIn(input)
      await setBalance(operator, account_id, balance_cents)
      return { account_id, balance_cents }
    },

    async setWebhook(input: Input): Promise<{ account_id: string; webhook: Webhook | null }> {
      const { url, secret } = input
      const account_id = await accountIn(input)
      const nowMs = Date.now()
      const isSecret = typeof secret === 'string' && secret.length > 0 && secret.length <= SECRET_LENGTH_MAX
      if (secret !== undefined && !isSecret)
        throw refuse('invalid_request', `secret is text of 1 to ${SECRET_LENGTH_MAX} characters.`)
      if (url === null) {
        await db.transaction((tx) => stopEndpoint(tx, account_id, nowMs))
        return { account_id, webhook: null }
      }
      if (typeof url !== 'string') throw refuse('invalid_request', 'url is a URL, or null to remove it.')
      const wanted = { account_id, url: await checkUrl(url, account_id), set_by: 'emulator' }
      await db.transaction(async (tx) => {
        // A chosen secret can be set only with a new endpoint.
        if (isSecret) await stopEndpoint(tx, account_id, nowMs)
        await setEndpoint(tx, keyring, wanted, nowMs, isSecret ? secret : undefined)
      })
      return { account_id, webhook: await webhookOf(account_id) }
    },

    async rotateWebhook(input: Input): Promise<{ account_id: string; webhook: RotatedWebhook }> {
      const account_id = await accountIn(input)
      await operator.rotateWebhookSecret(account_id)
      const webhook = (await webhookOf(account_id)) as Webhook
      const { ends_at } = await selectPreviousSecretEnd(db, account_id)
      return { account_id, webhook: { ...webhook, previous_until: ends_at.toISOString() } }
    },

    async importCatalogue({ items, partial = false }: Input): Promise<CatalogueImported> {
      if (typeof partial !== 'boolean') throw refuse('invalid_request', 'partial is true or false.')
      if (!Array.isArray(items)) throw refuse('invalid_request', 'items is a list of items.')
      const wanted = readCatalogueFile(Buffer.from(JSON.stringify(items)))
      const { revision, difference } = await operator.importCatalogue(wanted.items, 'emulator', {
        isPartial: partial,
        allowRemovals: true,
      })
      for (const { id } of difference.added) await operator.chooseSource(id, { supplier: SUPPLIER })
      return {
        revision,
        added: difference.added.length,
        changed: difference.changed.length,
        taken_from_sale: difference.taken_from_sale.length,
        back_on_sale: difference.back_on_sale.length,
        unchanged: difference.unchanged,
      }
    },

    advanceTime: ({ advance_s }: Input): Promise<TimeAdvanced> => store.time.advance(advance_s),

    async changeItem(id: string, { price_cents, sellable, available_until }: Input) {
      if (price_cents !== undefined && !Number.isSafeInteger(price_cents))
        throw refuse('invalid_request', 'price_cents is a whole number of cents.')
      if (sellable !== undefined && typeof sellable !== 'boolean')
        throw refuse('invalid_request', 'sellable is true or false.')
      if (available_until !== undefined && available_until !== null && typeof available_until !== 'string')
        throw refuse('invalid_request', 'available_until is a time, or null for none.')
      const { item } = await operator.setItem(id, {
        ...(price_cents !== undefined && { price_cents: String(price_cents) }),
        ...(sellable !== undefined && { for_sale: String(sellable) }),
        ...(available_until !== undefined && { available_until: available_until ?? '' }),
      })
      return {
        id,
        name: item.name,
        price_cents: item.price_cents,
        sellable: item.is_for_sale,
        available_until: item.available_until?.toISOString() ?? null,
      }
    },

    async deliver(id: string): Promise<EmulatedOrder> {
      const { missing } = await selectMissingLinks(db, id)
      await operator.deliverOrder(id, Array.from({ length: missing }, madeUpLink))
      await store.tellOrder(id)
      return orderNamed(id)
    },

    async cancel(id: string): Promise<EmulatedOrder> {
      await operator.cancelOrder(id, 'Cancelled in the emulator.')
      await store.tellOrder(id)
      return orderNamed(id)
    },

    orders: async (wanted: {
      account_id?: string
      idempotency_key?: string
    }): Promise<{ orders: EmulatedOrder[] }> => ({
      orders: await selectOrders(db, wanted),
    }),

    async ledger(input: Input): Promise<{ balance_cents: number; transfers: LedgerTransfer[] }> {
      const account_id = await accountIn(input)
      const { balance_cents } = await operator.showAccount(account_id)
      return { balance_cents, transfers: await selectTransfers(db, account_id) }
    },

    async verify(): Promise<{ ok: boolean; violations: Violation[] }> {
      const findings = await verifyData(db, await readRules(INVARIANTS), () => {})
      const violations = findings
        .filter(({ violations }) => violations > 0)
        .map(({ rule, what, violations, ids }) => ({ rule, what, violations, ids }))
      return { ok: violations.length === 0, violations }
    },
  }
}

function scopesIn({ scopes = allScopes }: Input): string[] {
  if (!Array.isArray(scopes)) throw refuse('invalid_request', 'scopes is a list of scopes.')
  return scopes.map(String)
}

function centsIn(value: unknown): number {
  const isCents = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
  if (isCents && value <= BALANCE_CENTS_MAX) return value
  throw refuse('invalid_request', `balance_cents is a whole number of cents from 0 to ${BALANCE_CENTS_MAX}.`)
}
