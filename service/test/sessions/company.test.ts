import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/platform/database/db.ts'
import { operatorFetch } from '../../src/platform/outbound/operator-fetch.ts'
import { ORIGIN, openIdentity, type TestBrowser, type TestIdentity } from '../../testing/identity.ts'
import { startIssuer, type TestIssuer } from '../../testing/issuer.ts'

// Threat 66: an issuer, or whoever stands between it and the browser, that says who somebody is.

let identity: TestIdentity
let issuer: TestIssuer
let account_id: string
beforeAll(async () => {
  issuer = await startIssuer(`${ORIGIN}/api/sign-in/company/callback`)
  const { url, client_id, client_secret } = issuer
  identity = await openIdentity({
    company: {
      name: 'Example AG',
      issuer: url,
      client_id,
      client_secret,
      email_domains: ['company.example'],
      isInsecureAllowed: true,
      // As the dashboard's process asks.
      fetch: operatorFetch(),
    },
  })
  account_id = await identity.newAccount()
})
afterAll(async () => {
  await identity.close()
  await issuer.close()
})

async function signIn(browser: TestBrowser, tamper = (_: URL) => {}): Promise<string | undefined> {
  await browser.call('beginCompanySignIn')
  const back = await issuer.signIn(browser.redirectedTo ?? '')
  tamper(back)
  await browser.call('finishCompanySignIn', undefined, Object.fromEntries(back.searchParams))
  return browser.redirectedTo
}
const emailIn = async (browser: TestBrowser) => (await browser.call('getSession')).person?.email

test('somebody who is neither known nor invited does not get in', async () => {
  issuer.person = { sub: 's0', email: 'stranger@company.example', email_verified: true, name: 'Stranger' }
  const browser = identity.browser()
  expect(await signIn(browser)).toBe(`${ORIGIN}/sign-in?company=unknown`)
  expect(await emailIn(browser)).toBeUndefined()
})

test('an invited person comes in at the first sign-in, and by the same subject afterwards, whatever the address', async () => {
  await identity.invite(account_id, 'new@company.example', 'finance')
  issuer.person = { sub: 's1', email: 'New@Company.example', email_verified: true, name: 'New Person' }
  const browser = identity.browser()
  expect(await signIn(browser)).toBe(`${ORIGIN}/`)
  expect(await browser.call('getSession')).toMatchObject({
    person: { name: 'New Person', email: 'new@company.example', has_password: false },
    account: { id: account_id, role: 'finance' },
    stepped_up_until: null,
  })
  issuer.person = { sub: 's1', email: 'renamed@company.example', email_verified: true, name: 'Renamed' }
  const again = identity.browser()
  await signIn(again)
  expect(await emailIn(again)).toBe('new@company.example')
})

test('an address that the company has not verified links to nobody', async () => {
  const { email } = await identity.newMember(account_id, 'owner', 'victim@company.example')
  issuer.person = { sub: 's2', email, email_verified: false, name: 'Attacker' }
  const browser = identity.browser()
  expect(await signIn(browser)).toBe(`${ORIGIN}/sign-in?company=unknown`)
  issuer.person = { sub: 's2', email, email_verified: true, name: 'Owner' }
  expect(await signIn(browser)).toBe(`${ORIGIN}/`)
  const links = await identity.database.owner.many<{ subject: string }>(
    statement(`select subject from credentials where provider like 'oidc:%' and subject = 's2'`, []),
  )
  expect(links).toHaveLength(1)
})

test('the company is not believed about addresses that are not its own', async () => {
  for (const [n, email] of [
    'victim@other.example',
    'victim@sub.company.example',
    'victim@notcompany.example',
    'company.example@other.example',
  ].entries()) {
    await identity.newMember(account_id, 'owner', email)
    await identity.invite(account_id, `new-${email}`, 'owner')
    for (const asserted of [email, `new-${email}`]) {
      issuer.person = { sub: `foreign-${n}`, email: asserted, email_verified: true, name: 'Attacker' }
      const browser = identity.browser()
      expect([asserted, await signIn(browser)]).toEqual([asserted, `${ORIGIN}/sign-in?company=unknown`])
      expect(await emailIn(browser)).toBeUndefined()
    }
  }
})

test('an operator does not come in by a company', async () => {
  await identity.database.asOwner(
    `insert into people (id, kind, name, email, email_verified, created_at, updated_at)
     values ('person_op', 'operator', 'Op', 'op@company.example', true, now(), now())`,
  )
  issuer.person = { sub: 's3', email: 'op@company.example', email_verified: true, name: 'Op' }
  expect(await signIn(identity.browser())).toBe(`${ORIGIN}/sign-in?company=unknown`)
})

test('another state, another browser and the same answer twice are refused', async () => {
  issuer.person = { sub: 's1', email: 'new@company.example', email_verified: true, name: 'New Person' }
  const tampered = await signIn(identity.browser(), (back) => back.searchParams.set('state', 'other'))
  expect(tampered).toBe(`${ORIGIN}/sign-in?company=refused`)

  const victim = identity.browser()
  await victim.call('beginCompanySignIn')
  const back = await issuer.signIn(victim.redirectedTo ?? '')
  const answer = Object.fromEntries(back.searchParams)
  const other = identity.browser()
  await other.call('finishCompanySignIn', undefined, answer)
  expect(other.redirectedTo).toBe(`${ORIGIN}/sign-in?company=expired`)
  const cookies = new Map(victim.cookies)
  await victim.call('finishCompanySignIn', undefined, answer)
  expect(victim.redirectedTo).toBe(`${ORIGIN}/`)
  const replay = identity.browser()
  for (const [name, value] of cookies) replay.cookies.set(name, value)
  await replay.call('finishCompanySignIn', undefined, answer)
  expect(replay.redirectedTo).toBe(`${ORIGIN}/sign-in?company=expired`)
})
