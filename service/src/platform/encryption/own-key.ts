import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { type Db, sql } from '../database/db.ts'
import type { Keyring, RowBinding } from './encryption.ts'
import type { SealedColumn } from './re-encrypt.ts'

const KEY_BYTES = 32

/**
 * A secret key of this installation, created at first use and stored sealed in the database. It must stay the same for as long
 * as rows made with it exist, so it does not depend on the configuration.
 */
export async function readOwnKey(db: Db, keyring: Keyring, name: string): Promise<KeyObject> {
  const known = await selectKey(db, name)
  if (known) return open(keyring, name, known.key_sealed)
  const sealed = await keyring.seal(randomBytes(KEY_BYTES).toString('base64'), bindingOf(name))
  await db.run(sql`
    insert into own_keys (name, key_sealed, key_kek_id)
    values (${name}, ${sealed.bytes}, ${sealed.kek_id})
        on conflict do nothing`)
  // Another process may have inserted its key first.
  const kept = await selectKey(db, name)
  return open(keyring, name, (kept as { key_sealed: Buffer }).key_sealed)
}

export const ownKeySecrets: SealedColumn = {
  table: 'own_keys',
  keys: ['name'],
  column: 'key',
  bindingOf: ({ name }) => bindingOf(String(name)),
}

const selectKey = (db: Db, name: string) =>
  db.maybeOne<{ key_sealed: Buffer }>(sql`
    select key_sealed
      from own_keys
     where name = ${name}`)

async function open(keyring: Keyring, name: string, sealed: Buffer): Promise<KeyObject> {
  return createSecretKey(await keyring.open(sealed, bindingOf(name)), 'base64')
}

function bindingOf(name: string): RowBinding {
  return { column: 'own_keys.key', account_id: '', row_id: name }
}
