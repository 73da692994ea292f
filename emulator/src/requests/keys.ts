import {
  type Db,
  findLiveKey,
  type Keyring,
  openSecret,
  type Queryable,
  sql,
} from '@shopwire/service/embedded'
import type { Key } from '../types.ts'

export type Keys = Awaited<ReturnType<typeof openKeys>>

/** The account and secret of each key, to assign requests to accounts and to find the mistake behind a wrong signature. */
export async function openKeys(db: Db, keyring: Keyring) {
  const accounts = new Map<string, string>()
  const secrets = new Map<string, string>()
  for (const { id, account_id } of await selectKeys(db)) accounts.set(id, account_id)
  return {
    add(account_id: string, { id, secret }: Key) {
      accounts.set(id, account_id)
      secrets.set(id, secret)
    },
    accountOf: (key_id: string) => accounts.get(key_id),
    /** From memory for keys created since the start. */
    knownSecret: (key_id: string) => secrets.get(key_id),
    async secretOf(key_id: string): Promise<string | undefined> {
      const known = secrets.get(key_id)
      if (known !== undefined || !accounts.has(key_id)) return known
      const row = await findLiveKey(db, key_id)
      const secret = row && (await openSecret(keyring, row))
      if (secret !== undefined) secrets.set(key_id, secret)
      return secret
    },
  }
}

const selectKeys = (db: Queryable) =>
  db.many<{ id: string; account_id: string }>(sql`
    select id, account_id
      from api_keys`)
