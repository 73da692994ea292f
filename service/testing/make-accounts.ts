import { randomBytes } from 'node:crypto'
import { createAccount } from '../src/accounts/account.ts'
import { createKey } from '../src/accounts/api-key.ts'
import { loadConfig } from '../src/config/config.ts'
import { fund } from '../src/ledger/transfer.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { openDatabaseFrom, openKeyringFrom } from '../src/programs/wiring.ts'

/**
 * Makes funded accounts with a key each: node make-accounts.ts <how many> <cents for each>. Prints them as one JSON array. As
 * `shopwire-admin` does, without three processes for each, of which `npm run faults` has thousands.
 */
const [count = 0, balance_cents = 0] = process.argv.slice(2).map(Number)
const CHUNK = 500

const config = loadConfig(process.env)
const db = openDatabaseFrom(config, 'shopwire-admin', createLog('warn'))
const keyring = openKeyringFrom(config)
const made: Made[] = []
while (made.length < count) {
  const chunk = await db.transaction(async (tx) => {
    const nowMs = Date.now()
    // Of this attempt: a transaction may be rolled back and tried again.
    const own: Made[] = []
    for (let n = Math.min(CHUNK, count - made.length); n > 0; n -= 1) {
      const { id: account_id } = await createAccount(tx, 'Faults', nowMs)
      const reference = `faults-${randomBytes(8).toString('hex')}`
      await fund(tx, account_id, { amount_cents: balance_cents, reference }, nowMs)
      const { key, secret } = await createKey(
        tx,
        keyring,
        { account_id, cell: config.SHOPWIRE_CELL, name: 'faults', scopes: ['orders:write'] },
        nowMs,
      )
      own.push({ account_id, id: key.id, secret })
    }
    return own
  })
  made.push(...chunk)
}
process.stdout.write(`${JSON.stringify(made)}\n`)
await db.close()

interface Made {
  readonly account_id: string
  readonly id: string
  readonly secret: string
}
