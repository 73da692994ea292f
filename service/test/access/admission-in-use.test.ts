import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Admission } from '../../src/access/admission.ts'
import {
  AdmissionMismatchError,
  noteAdmissionInUse,
  withMismatchCheck,
} from '../../src/access/admission-in-use.ts'
import { sql } from '../../src/platform/db.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let heard: string[]
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const announcing = (kind: 'postgres' | 'redis') => {
  heard = []
  const memory = { announce: async (account_id: string) => void heard.push(account_id) }
  return withMismatchCheck(memory as unknown as Admission, shop.db, kind).announce('acct_x', 2)
}

test('a command with the settings of the API processes has told them', async () => {
  await noteAdmissionInUse(shop.db, 'redis')
  await announcing('redis')
  expect(heard).toEqual(['acct_x'])
})

test('one with other settings says that nobody has heard, and what to set', async () => {
  await noteAdmissionInUse(shop.db, 'redis')
  await expect(announcing('postgres')).rejects.toThrow(AdmissionMismatchError)
  await expect(announcing('postgres')).rejects.toThrow(
    /SHOPWIRE_ADMISSION=postgres, but API processes use redis\./,
  )
})

test('processes that have not been seen for a while run no more', async () => {
  await noteAdmissionInUse(shop.db, 'postgres')
  await shop.db.run(
    sql`update admission_in_use set seen_at = now() - interval '6 minutes' where kind = 'redis'`,
  )
  await announcing('postgres')
})
