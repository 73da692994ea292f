import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Admission } from '../../src/access/admission.ts'
import {
  AdmissionMismatchError,
  noteAdmissionInUse,
  withMismatchCheck,
} from '../../src/access/admission-in-use.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let announced: string[]
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const announcing = (kind: 'postgres' | 'redis') => {
  announced = []
  const admission = { announce: async (account_id: string) => void announced.push(account_id) }
  return withMismatchCheck(admission as unknown as Admission, shop.database.operator, kind).announce(
    'acct_x',
    2,
  )
}

test('announce succeeds when the command uses the same store as the API processes', async () => {
  await noteAdmissionInUse(shop.database.api, 'redis')
  await announcing('redis')
  expect(announced).toEqual(['acct_x'])
})

test('announce with another store throws AdmissionMismatchError, which names the settings to change', async () => {
  await noteAdmissionInUse(shop.database.api, 'redis')
  await expect(announcing('postgres')).rejects.toThrow(AdmissionMismatchError)
  await expect(announcing('postgres')).rejects.toThrow(
    /SHOPWIRE_ADMISSION=postgres, but API processes use redis\./,
  )
})

test('API processes that have not been seen for a while are ignored', async () => {
  await noteAdmissionInUse(shop.database.api, 'postgres')
  await shop.database.owner.run(
    sql`update admission_in_use set seen_at = now() - interval '6 minutes' where kind = 'redis'`,
  )
  await announcing('postgres')
})
