import { readFileSync } from 'node:fs'
import { loadConfig } from '../src/config/config.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { openDatabaseFrom, openKeyringFrom } from '../src/programs/wiring.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import { loadPool, preparePool } from '../src/supply/pool.ts'

/**
 * Loads pools: node bench-load-pools.ts <file with item ids, one per line> <links for each>. As `shopwire-admin pool load` does, without a
 * process, a file and an audit row for each item, of which `npm run bench -- churn` has many.
 */
const [path = '', countText = ''] = process.argv.slice(2)
const items = readFileSync(path, 'utf8').split('\n').filter(Boolean)
const count = Number(countText)
const CHUNK = 5_000

const config = loadConfig(process.env)
const db = openDatabaseFrom(config, 'shopwire-admin', createLog('warn'))
const vault = createLinkVault(db, openKeyringFrom(config))
await vault.open()
for (const item_id of items) {
  for (let done = 0; done < count; done += CHUNK) {
    const nowMs = Date.now()
    const links = Array.from(
      { length: Math.min(CHUNK, count - done) },
      (_, n) => `https://gift.example/${item_id}/${done + n}`,
    )
    const rows = await preparePool(vault, item_id, links, nowMs)
    await db.transaction((tx) => loadPool(tx, item_id, rows, nowMs))
  }
}
await db.close()
