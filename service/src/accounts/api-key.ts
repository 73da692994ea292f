import { scopes as allScopes, type Scope } from '@shopwire/contract'
import type { Queryable, Tx } from '../platform/database/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { newOpaqueId, newSecret } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'
import { assertName, assertOpen, getAccount, NAME_LENGTH_MAX } from './account.ts'
import {
  type ApiKey,
  insertKey,
  type LiveKeyRow,
  lockKey,
  raiseAccessVersion,
  selectKeys,
  selectLiveKeys,
  selectReplacement,
  updateKeyName,
  updateKeyRevoked,
} from './queries.ts'

export type { ApiKey, LiveKeyRow } from './queries.ts'

export interface WantedKey {
  readonly account_id: string
  readonly cell: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Absent when an operator makes it. */
  readonly by?: { readonly person_id: string; readonly name: string }
  /** The key that this one is to replace. */
  readonly rotated_from?: string
}

/** The only place where the secret is returned. */
export async function createKey(
  tx: Tx,
  keyring: Keyring,
  wanted: WantedKey,
  nowMs: number,
  { id, secret } = { id: newOpaqueId(`key_${wanted.cell}`), secret: newSecret('sk') },
): Promise<{ key: ApiKey; secret: string }> {
  assertName(wanted.name)
  const scopes = checkScopes(wanted.scopes)
  const account = await getAccount(tx, wanted.account_id)
  assertOpen(account)
  const account_id = account.id
  const sealed = await keyring.seal(secret, secretBinding(account_id, id))
  const key = await insertKey(tx, {
    account_id,
    id,
    name: wanted.name,
    scopes,
    secret_sealed: sealed.bytes,
    secret_kek_id: sealed.kek_id,
    created_at: new Date(nowMs),
    created_by: wanted.by?.person_id ?? null,
    created_by_name: wanted.by?.name ?? null,
    rotated_from: wanted.rotated_from ?? null,
  })
  return { key, secret }
}

/** Of one account, locked until the end of the transaction. */
async function heldKey(tx: Tx, account_id: string, id: string): Promise<ApiKey> {
  const key = await lockKey(tx, account_id, id)
  if (!key) throw refuse('not_found', `There is no key ${id}.`)
  return key
}

export async function renameKey(
  tx: Tx,
  account_id: string,
  id: string,
  name: string,
): Promise<{ before: string }> {
  assertName(name)
  const key = await heldKey(tx, account_id, id)
  await updateKeyName(tx, account_id, id, name)
  return { before: key.name }
}

/**
 * Makes a second live key with the scopes and the name of this one, which stays valid under another name until it is revoked: the
 * caller's servers can switch over one after the other.
 */
export async function rotateKey(
  tx: Tx,
  keyring: Keyring,
  wanted: Pick<WantedKey, 'account_id' | 'cell' | 'by'> & { readonly id: string },
  nowMs: number,
): Promise<{ key: ApiKey; secret: string; before: ApiKey; renamedTo: string }> {
  const { account_id, id, ...rest } = wanted
  const before = await heldKey(tx, account_id, id)
  if (before.revoked_at !== null)
    throw refuse('conflict', 'This key is revoked, so it cannot be rotated. Create a new key instead.')
  const replacement = await selectReplacement(tx, account_id, id)
  if (replacement)
    throw refuse(
      'conflict',
      `This key is being rotated already: the key ${replacement.id} replaces it. Revoke one of the two first.`,
    )
  const renamedTo = `${[...before.name].slice(0, NAME_LENGTH_MAX - ROTATED.length).join('')}${ROTATED}`
  await updateKeyName(tx, account_id, id, renamedTo)
  const { name, scopes } = before
  const made = await createKey(tx, keyring, { ...rest, account_id, name, scopes, rotated_from: id }, nowMs)
  return { ...made, before, renamedTo }
}

const ROTATED = ', before rotation'

/** Final and idempotent. */
export async function revokeKey(
  tx: Tx,
  id: string,
  nowMs: number,
): Promise<{ key: ApiKey; access_version: number }> {
  const key = await updateKeyRevoked(tx, id, new Date(nowMs))
  if (!key) throw refuse('not_found', `There is no key ${id}.`)
  const { access_version } = await raiseAccessVersion(tx, key.account_id)
  return { key, access_version }
}

export async function listKeys(db: Queryable, account_id: string): Promise<ApiKey[]> {
  await getAccount(db, account_id)
  return selectKeys(db, account_id)
}

/** The keys among these ids that exist and are not revoked. */
export async function findLiveKeys(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LiveKeyRow>> {
  return new Map((await selectLiveKeys(db, ids)).map((row) => [row.key_id, row]))
}

export async function findLiveKey(db: Queryable, id: string): Promise<LiveKeyRow | undefined> {
  return (await findLiveKeys(db, [id])).get(id)
}

export function openSecret(keyring: Keyring, key: LiveKeyRow): Promise<string> {
  return keyring.open(key.secret_sealed, secretBinding(key.account_id, key.key_id))
}

/** For re-encryption. */
export const apiKeySecrets: SealedColumn = {
  table: 'api_keys',
  keys: ['account_id', 'id'],
  column: 'secret',
  bindingOf: ({ account_id, id }) => secretBinding(String(account_id), String(id)),
}

function secretBinding(account_id: string, row_id: string): RowBinding {
  return { column: 'api_keys.secret', account_id, row_id }
}

function checkScopes(wanted: readonly string[]): Scope[] {
  const unknown = wanted.filter((name) => !(allScopes as readonly string[]).includes(name))
  if (unknown.length > 0 || wanted.length === 0) {
    const what =
      unknown.length > 0 ? `Unknown scope: ${unknown.join(', ')}.` : 'A key needs at least one scope.'
    throw refuse('invalid_request', `${what} The scopes are ${allScopes.join(', ')}.`)
  }
  return allScopes.filter((scope) => wanted.includes(scope))
}
