import type { Queryable, Tx } from '../platform/database/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { newSecret } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'
import {
  insertSupplier,
  type SupplierRow,
  selectItemsWithoutCost,
  selectSupplier,
  selectSuppliers,
  updateSupplierLimit,
  updateSupplierPaused,
} from './queries.ts'
import { recountSpending } from './spending.ts'

export type Supplier = Omit<SupplierRow, 'secret_sealed'>

const NAME_FORM = /^[a-z0-9][a-z0-9-]{0,39}$/
export const SUPPLIER_TIMEOUT_MS_DEFAULT = 10_000
const TIMEOUT_MS_MIN = 100
const TIMEOUT_MS_MAX = 60_000
const ITEMS_NAMED_MAX = 10

/** More than any hour's purchases: a larger number is a typing mistake. */
const LIMIT_CENTS_MAX = 1_000_000_000

export interface NewSupplier {
  readonly name: string
  readonly url: string
  readonly timeout_ms: number
  readonly hourly_limit_cents?: number | null | undefined
  readonly allowHttp: boolean
}

/** The only place where the secret that signs our requests is returned. */
export async function createSupplier(
  tx: Tx,
  keyring: Keyring,
  wanted: NewSupplier,
  nowMs: number,
): Promise<{ supplier: Supplier; secret: string }> {
  const { name, timeout_ms } = wanted
  if (!NAME_FORM.test(name)) {
    throw refuse('invalid_request', 'A supplier’s name is 1 to 40 lower-case letters, digits and dashes.')
  }
  if (!Number.isInteger(timeout_ms) || timeout_ms < TIMEOUT_MS_MIN || timeout_ms > TIMEOUT_MS_MAX) {
    throw refuse(
      'invalid_request',
      `A supplier’s time limit is ${TIMEOUT_MS_MIN} ms to ${TIMEOUT_MS_MAX / 1000} s.`,
    )
  }
  const hourly_limit_cents = checkLimit(wanted.hourly_limit_cents ?? null)
  const url = checkUrl(wanted.url, wanted.allowHttp)
  const secret = newSecret('sup')
  const sealed = await keyring.seal(secret, secretBinding(name))
  const row = {
    name,
    url,
    secret_sealed: sealed.bytes,
    timeout_ms,
    is_paused: false,
    hourly_limit_cents,
    created_at: new Date(nowMs),
  }
  const inserted = await insertSupplier(tx, { ...row, secret_kek_id: sealed.kek_id })
  if (inserted === 0)
    throw refuse('invalid_request', `There is a supplier "${name}" already. Choose another name.`)
  return { supplier: publicPart(row), secret }
}

export async function listSuppliers(db: Queryable): Promise<Supplier[]> {
  return (await selectSuppliers(db)).map(publicPart)
}

export async function getSupplier(db: Queryable, name: string): Promise<SupplierRow> {
  const row = await selectSupplier(db, name)
  if (!row) throw refuse('not_found', `There is no supplier "${name}". "suppliers list" shows all there are.`)
  return row
}

export async function pauseSupplier(tx: Tx, name: string, is_paused: boolean): Promise<Supplier> {
  await updateSupplierPaused(tx, name, is_paused)
  return publicPart(await getSupplier(tx, name))
}

/**
 * Limits what is requested of a supplier within an hour; null removes the limit. Items without a cost could not be counted, so there
 * must be none. The last hour's requests count at once.
 */
export async function limitSupplier(
  tx: Tx,
  name: string,
  hourly_limit_cents: number | null,
  nowMs: number,
): Promise<Supplier> {
  checkLimit(hourly_limit_cents)
  await updateSupplierLimit(tx, name, hourly_limit_cents)
  const supplier = publicPart(await getSupplier(tx, name))
  if (hourly_limit_cents === null) return supplier
  const uncounted = await selectItemsWithoutCost(tx, name, ITEMS_NAMED_MAX)
  if (uncounted.length > 0) {
    throw refuse(
      'invalid_request',
      `Without a cost, requests for an item cannot be counted towards a limit: ${uncounted.map(({ item_id }) => item_id).join(', ')}` +
        `${uncounted.length === ITEMS_NAMED_MAX ? ' …' : ''}. Set it first: supply set <item> --cost <cents>, or --fallback-cost <cents>.`,
    )
  }
  await recountSpending(tx, name, nowMs)
  return supplier
}

function checkLimit(cents: number | null): number | null {
  if (cents === null || (Number.isSafeInteger(cents) && cents > 0 && cents <= LIMIT_CENTS_MAX)) return cents
  throw refuse('invalid_request', `An hourly limit is 1 to ${LIMIT_CENTS_MAX} cents, or "none".`)
}

export function openSupplierSecret(keyring: Keyring, { name, secret_sealed }: SupplierRow): Promise<string> {
  return keyring.open(secret_sealed, secretBinding(name))
}

export const supplierSecrets: SealedColumn = {
  table: 'suppliers',
  keys: ['name'],
  column: 'secret',
  bindingOf: ({ name }) => secretBinding(String(name)),
}

function secretBinding(name: string): RowBinding {
  return { column: 'suppliers.secret', account_id: '', row_id: name }
}

function publicPart(row: SupplierRow): Supplier {
  const { name, url, timeout_ms, is_paused, hourly_limit_cents, created_at } = row
  return { name, url, timeout_ms, is_paused, hourly_limit_cents, created_at }
}

/** The operator chose it, so it may be in our own network. It transports bearer links, so it has to be encrypted. */
function checkUrl(text: string, allowHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isAllowed = url?.protocol === 'https:' || (allowHttp && url?.protocol === 'http:')
  if (!url || !isAllowed || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw refuse(
      'invalid_request',
      'A supplier’s URL is an https:// address without credentials and fragment.',
    )
  }
  return url.href
}
