import {
  createLog,
  createOperator,
  DEVELOPMENT_ENCRYPTION_KEY,
  loadConfig,
  openDatabaseFrom,
  openKeyringFrom,
  sql,
} from '@shopwire/service/embedded'
import { expect, test } from 'vitest'
import { startDatabase } from '../src/database/database.ts'
import { CELL, seed } from '../src/database/seed.ts'

test('an interrupted first start is completed by the next one', async () => {
  const database = await startDatabase(
    undefined,
    () => {},
    () => {},
  )
  const config = loadConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_CELL: CELL,
    SHOPWIRE_DATABASE_URL: database.processUrls.operator,
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
  })
  const log = createLog('silent', { write: () => {} })
  const db = openDatabaseFrom(config, 'seed-test', log)
  const owner = openDatabaseFrom({ ...config, SHOPWIRE_DATABASE_URL: database.ownerUrl }, 'seed-test', log)
  try {
    const keyring = openKeyringFrom(config)
    const clock = { nowMs: () => Date.now() }
    const admission = async (): Promise<never> => {
      throw new Error('nobody is let in here')
    }
    const operator = createOperator({ db, keyring, clock, cell: CELL, admission }, 'emulator')
    for (const action of ['importCatalogue', 'createSupplier', 'chooseSource'] as const) {
      const cut = { ...operator, [action]: () => Promise.reject(new Error(`cut short at ${action}`)) }
      await expect(seed({ db, owner, keyring, operator: cut }, 100)).rejects.toThrow(action)
    }
    await seed({ db, owner, keyring, operator }, 100)
    const { items, supplied } = await db.one<{ items: number; supplied: number }>(sql`
      select count(*)::integer as items, count(item_supply.supplier)::integer as supplied
        from items
        left join item_supply on item_supply.item_id = items.id`)
    expect(items).toBeGreaterThan(5)
    expect(supplied).toBe(items)
  } finally {
    await Promise.all([db.close(), owner.close()])
    await database.stop()
  }
})
