import type { Queryable, Tx } from '../platform/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption.ts'
import { newSecret } from '../platform/ids.ts'
import type { SealedColumn } from '../platform/rewrap.ts'
import { refuse } from '../platform/trouble.ts'
import {
  insertSupplier,
  type SupplierRow,
  selectSupplier,
  selectSuppliers,
  updateSupplierPaused,
} from './queries.ts'

export type Supplier = Omit<SupplierRow, 'secret_sealed'>

const NAME_FORM = /^[a-z0-9][a-z0-9-]{0,39}$/
export const SUPPLIER_TIMEOUT_MS_DEFAULT = 10_000
const TIMEOUT_MS_MIN = 100
const TIMEOUT_MS_MAX = 60_000

/** The only place where the secret that signs our requests is returned. */
export async function createSupplier(
  tx: Tx,
  keyring: Keyring,
  wanted: { name: string; url: string; timeout_ms: number; allowHttp: boolean },
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
  const url = checkUrl(wanted.url, wanted.allowHttp)
  const secret = newSecret('sup')
  const sealed = await keyring.seal(secret, secretBinding(name))
  const row = {
    name,
    url,
    secret_sealed: sealed.bytes,
    timeout_ms,
    is_paused: false,
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

function publicPart({ name, url, timeout_ms, is_paused, created_at }: SupplierRow): Supplier {
  return { name, url, timeout_ms, is_paused, created_at }
}

/** The operator chose it, so it may be in our own network. It carries bearer links, so it has to be encrypted. */
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
