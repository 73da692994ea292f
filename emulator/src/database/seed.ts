import { randomUUID } from 'node:crypto'
import { scopes as allScopes } from '@shopwire/contract'
import {
  createAccount,
  createKey,
  type Db,
  fund,
  type Keyring,
  type Operator,
  readCatalogueFile,
  sql,
} from '@shopwire/service/embedded'
import { SUPPLIER } from '../store/fulfilment.ts'
import type { Key } from '../types.ts'
import catalogue from './catalogue.json' with { type: 'json' }

export const CELL = 'emulator'
/** The same at every start, so that a caller's configuration stays valid. They give access to play money only. */
export const ACCOUNT_ID = 'acct_00000000000000000000000001'
export const KEY: Key = {
  id: `key_${CELL}_00000000000000000000000001`,
  secret: 'sk_emulator-play-money-everyone-knows-this-one',
}

export interface SeedDeps {
  /** With the login of operators. */
  readonly db: Db
  readonly owner: Db
  readonly keyring: Keyring
  readonly operator: Operator
}

/**
 * Fills a new database with the account, its key and balance, and the catalogue. Does nothing in a kept database that
 * is complete.
 */
export async function seed({ db, owner, keyring, operator }: SeedDeps, balanceCents: number): Promise<void> {
  const isSeeded = await db.maybeOne(sql`select id from accounts where id = ${ACCOUNT_ID}`)
  if (isSeeded) {
    // Orders delayed in the last run are scheduled again.
    await db.run(sql`update jobs set run_at = clock_timestamp() where queue = 'fulfil'`)
    return
  }
  const { items } = readCatalogueFile(Buffer.from(JSON.stringify(catalogue)))
  await operator.importCatalogue(items, 'emulator', { isPartial: false, allowRemovals: true })
  // Never called: replaced by `endlessSupply`.
  const url = 'https://supplier.example/links'
  const isKnown = await db.maybeOne(sql`select name from suppliers where name = ${SUPPLIER}`)
  if (!isKnown) await operator.createSupplier({ name: SUPPLIER, url, timeout_ms: 1_000, allowHttp: false })
  for (const id of items.keys()) await operator.chooseSource(id, { supplier: SUPPLIER })
  // The initial catalogue is not announced as a change.
  await owner.run(sql`
    update catalogue_announcement
       set revision = (select revision from catalogue_state)`)
  // Created last and atomically: if the account exists, everything else does. A start may be interrupted.
  const nowMs = Date.now()
  await db.transaction(async (tx) => {
    await createAccount(tx, 'Emulator', nowMs, ACCOUNT_ID)
    const key = { account_id: ACCOUNT_ID, cell: CELL, name: 'emulator', scopes: allScopes }
    await createKey(tx, keyring, key, nowMs, KEY)
    if (balanceCents > 0)
      await fund(tx, ACCOUNT_ID, { amount_cents: balanceCents, reference: 'play money' }, nowMs)
  })
}

/** Creates another account with a balance and a key. */
export async function addAccount(
  operator: Operator,
  wanted: { name: string; balanceCents: number; scopes: readonly string[] },
): Promise<{ account_id: string; key: Key }> {
  const { id: account_id } = await operator.createAccount(wanted.name)
  if (wanted.balanceCents > 0)
    await operator.fundAccount(account_id, {
      amount_cents: wanted.balanceCents,
      reference: `play money for ${account_id}`,
    })
  const { key, secret } = await operator.createKey(account_id, wanted.name, wanted.scopes)
  return { account_id, key: { id: key.id, secret } }
}

/** Sets a balance by one transfer, or none when it is already right. */
export async function setBalance(operator: Operator, account_id: string, wantedCents: number): Promise<void> {
  const { balance_cents } = await operator.showAccount(account_id)
  const change_cents = wantedCents - balance_cents
  if (change_cents === 0) return
  await operator.adjustAccount(account_id, {
    change_cents,
    reference: randomUUID(),
    note: 'set in the emulator',
  })
}
