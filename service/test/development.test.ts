import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openDevAccess } from '../development/dev-access.ts'
import { openPastStore } from '../development/past-store.ts'
import { openTestDatabase } from '../testing/database.ts'

/** Both do what no real store may: they are refused wherever SHOPWIRE_ENV is not development. */
const settings = (SHOPWIRE_ENV: string, url: string) => ({
  SHOPWIRE_ENV,
  SHOPWIRE_DATABASE_URL: url,
  SHOPWIRE_DASHBOARD_DATABASE_URL: url,
  SHOPWIRE_DASHBOARD_ORIGIN: 'https://dashboard.shop.test',
  SHOPWIRE_ENCRYPTION_KEYS: `a:${randomBytes(32).toString('base64')}`,
})

test('in production signing in without a password and writing a past are refused', async () => {
  const url = 'postgres://app:Zk3vBq8w@127.0.0.1:1/none?sslmode=verify-full'
  const env = settings('production', url)
  expect(() => openDevAccess(env, url)).toThrow('for SHOPWIRE_ENV=development')
  const client = {
    post: async () => ({ error: null, status: 200, remote_address: null }),
    close: async () => {},
  }
  await expect(
    openPastStore({
      env,
      apiUrl: url,
      workerUrl: url,
      actor: 'test',
      openClient: () => client,
      random: () => 0,
    }),
  ).rejects.toThrow('only with SHOPWIRE_ENV=development')
})

test('in development nobody is signed in who does not exist, and an unknown URL has no receiver', async () => {
  const database = await openTestDatabase()
  const { dashboard, worker } = database.processUrls
  const access = openDevAccess(settings('development', dashboard), worker)
  expect(
    await access.signIn('nobody@shopwire.localhost', { address: '127.0.0.1', user_agent: '' }),
  ).toBeUndefined()
  expect(await access.receiversAt('https://hooks.example.com/')).toEqual([])
  await access.close()
  await database.close()
})
