import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { api, transport } from '#apps/dashboard/api/client.ts'
import { leaveAccount, renewSession, sessionQuery } from '#apps/dashboard/api/session.ts'
import { shownAccount } from '#apps/dashboard/api/shown-account.ts'
import { queryClient } from '#client/query-client.ts'

const acme = { id: 'acct_acme', name: 'Acme', role: 'owner' }
const globex = { id: 'acct_globex', name: 'Globex', role: 'owner' }

/** Of the session, as the service has it. */
let account: typeof acme | null
let hasFactor: boolean
/** What was asked for, and the account that it named. */
let sent: string[] = []
const { fetch: realFetch } = globalThis

const refusal = (status: number, type: string) =>
  Response.json({ error: { type, message: `Refused: ${type}.` } }, { status })

beforeAll(() => {
  globalThis.fetch = async (path, init) => {
    const named = new Headers(init?.headers).get('x-shopwire-account')
    sent.push(`${path} ${named}`)
    if (path === '/api/session')
      return Response.json({ account, accounts: [acme, globex], csrf_token: 'token' })
    if (named !== account?.id) return refusal(409, 'account_mismatch')
    return hasFactor ? Response.json({ of: named }) : refusal(403, 'step_up_required')
  }
})
beforeEach(async () => {
  account = acme
  hasFactor = true
  transport.setGates({
    stepUp: async () => false,
    signedOut: () => {},
    renew: async () => (await renewSession()).person !== null,
  })
  await renewSession()
  sent = []
})
afterEach(() => {
  leaveAccount()
  queryClient.clear()
})
afterAll(() => {
  globalThis.fetch = realFetch
})

test('every request names the account that the page shows, files and streams in their address', async () => {
  await api.read('getHome')
  await api.act('renameKey', { id: 'key_1', name: 'k' })
  expect(sent).toEqual(['/api/home acct_acme', '/api/keys/rename acct_acme'])
  expect(api.href('live')).toBe('/api/live?account=acct_acme')
  expect(api.href('exportOrders', { query: { status: 'paid' } })).toBe(
    '/api/orders.csv?status=paid&account=acct_acme',
  )
})

test('a page whose session was switched elsewhere goes on showing its account, and learns of it by the first refusal', async () => {
  account = globex
  await expect(api.read('getHome')).rejects.toMatchObject({ type: 'account_mismatch' })
  await expect
    .poll(() => queryClient.getQueryState(sessionQuery.queryKey)?.error)
    .toMatchObject({
      type: 'account_mismatch',
      message: expect.stringContaining('still shows Acme, and you are in Globex now'),
    })
  expect(queryClient.getQueryData(sessionQuery.queryKey)?.account).toEqual(acme)
  expect(shownAccount()).toBe('acct_acme')

  account = acme
  await renewSession()
  expect(queryClient.getQueryState(sessionQuery.queryKey)?.error).toBeNull()
})

test('nothing that was read in an account is left when the page goes on in another', async () => {
  queryClient.setQueryData(['getHome', {}], { of: 'acct_acme' })
  account = globex
  leaveAccount()
  expect(queryClient.getQueryData(['getHome', {}])).toBeUndefined()
  await renewSession()
  expect(await api.read('getHome')).toEqual({ of: 'acct_globex' })
})

test('nor when the reader was removed from it', async () => {
  queryClient.setQueryData(['getHome', {}], { of: 'acct_acme' })
  account = null
  await renewSession()
  expect(queryClient.getQueryData(['getHome', {}])).toBeUndefined()
  expect(shownAccount()).toBeNull()
})

test('what is repeated after a second factor is not done in an account that the page came to meanwhile', async () => {
  hasFactor = false
  transport.setGates({
    stepUp: async () => {
      hasFactor = true
      account = globex
      leaveAccount()
      await renewSession()
      return true
    },
    signedOut: () => {},
    renew: async () => true,
  })
  await expect(api.act('testWebhook', {})).rejects.toMatchObject({ type: 'account_mismatch' })
  expect(sent.filter((line) => line.includes('webhook'))).toEqual(
    Array(2).fill('/api/webhook/test acct_acme'),
  )
})
