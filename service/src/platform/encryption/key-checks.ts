import { type Db, type Queryable, sql } from '../database/db.ts'
import { Unavailable } from '../trouble.ts'
import { KekNotObtained, type Keyring, type RowBinding, WrongEncryptionKey } from './encryption.ts'

const CHECK_TEXT = 'shopwire encryption key check'

/**
 * Compares every configured key with the database and throws WrongEncryptionKey for the first that does not match. A new key id
 * gets a check value in the database. Has to run before anything is sealed or opened: a wrong key under a known id would seal
 * values that cannot be opened. Nothing is sealed under an id before that, so an id without a check value has no sealed values
 * either.
 */
export async function verifyEncryptionKeys(db: Db, keyring: Keyring): Promise<void> {
  for (const kek_id of keyring.kekIds) {
    const check = (await selectCheck(db, kek_id)) ?? (await storeCheck(db, keyring, kek_id))
    if (!(await opensCheck(keyring, kek_id, check))) throw new WrongEncryptionKey(kek_id)
  }
}

/**
 * The same for a role that may not read sealed values: each key is compared with the check value that an API or a worker has
 * stored. Fails with Unavailable until one exists.
 */
export async function compareEncryptionKeys(db: Queryable, keyring: Keyring): Promise<void> {
  for (const kek_id of keyring.kekIds) {
    const check = await selectCheck(db, kek_id)
    if (!check)
      throw new Unavailable('key check', new Error(`no API or worker has used the key ${kek_id} yet`))
    if (!(await opensCheck(keyring, kek_id, check))) throw new WrongEncryptionKey(kek_id)
  }
}

/** The configured keys that do not open their check value. A key that has not been used yet has none. */
export async function wrongEncryptionKeys(db: Queryable, keyring: Keyring): Promise<ReadonlySet<string>> {
  const wrong = new Set<string>()
  for (const kek_id of keyring.kekIds) {
    const check = await selectCheck(db, kek_id)
    if (check && !(await opensCheck(keyring, kek_id, check))) wrong.add(kek_id)
  }
  return wrong
}

/** A keyring that is verified against the database before its first use. */
export function verifiedKeyring(keyring: Keyring, verify: () => Promise<void>): Keyring {
  let verified: Promise<void> | undefined
  const once = () => {
    verified ??= verify()
    return verified
  }
  return {
    ...keyring,
    seal: (...args) => once().then(() => keyring.seal(...args)),
    open: (...args) => once().then(() => keyring.open(...args)),
  }
}

interface Check {
  readonly check_sealed: Buffer
}

const selectCheck = (db: Queryable, kek_id: string) =>
  db.maybeOne<Check>(sql`
    select check_sealed
      from encryption_key_checks
     where kek_id = ${kek_id}`)

async function storeCheck(db: Db, keyring: Keyring, kek_id: string): Promise<Check> {
  const { bytes } = await keyring.seal(CHECK_TEXT, bindingOf(kek_id), kek_id)
  await db.run(sql`
    insert into encryption_key_checks (kek_id, check_sealed)
    values (${kek_id}, ${bytes})
        on conflict do nothing`)
  // Another process may have stored a check value first, made with another key.
  return (await selectCheck(db, kek_id)) as Check
}

async function opensCheck(keyring: Keyring, kek_id: string, { check_sealed }: Check): Promise<boolean> {
  try {
    return (await keyring.open(check_sealed, bindingOf(kek_id))) === CHECK_TEXT
  } catch (error) {
    // The key provider did not answer, which does not mean that the key is wrong.
    if (error instanceof Unavailable || error instanceof KekNotObtained) throw error
    return false
  }
}

function bindingOf(kek_id: string): RowBinding {
  return { column: 'encryption_key_checks.check', account_id: '', row_id: kek_id }
}
