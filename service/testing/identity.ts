import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BodyOf, identityRoutes, QueryOf, ReplyOf, Role } from '@shopwire/contract/dashboard'
import { createAccount } from '../src/accounts/account.ts'
import { type Keyring, localKeks, openKeyring } from '../src/platform/encryption/encryption.ts'
import { createLog } from '../src/platform/observability/log.ts'
import type { CompanySettings } from '../src/sessions/company.ts'
import { createSessions, type Sessions } from '../src/sessions/index.ts'
import { createInvitation } from '../src/sessions/invitations.ts'
import { openTestDatabase, type TestDatabase } from './database.ts'

type Routes = typeof identityRoutes
type Named<Name extends Routes[number]['name']> = Extract<Routes[number], { readonly name: Name }>

export const ORIGIN = 'https://dashboard.shopwire.test'
export const PASSWORD = 'correct horse battery staple'
/** So that a thousand sign-ins take seconds. The real cost has a test of its own. */
const CHEAP = { memoryKib: 256, passes: 1 }
const MINUTE_MS = 60_000

export interface TestIdentity {
  readonly database: TestDatabase
  readonly sessions: Sessions
  readonly keyring: Keyring
  /** Everything that was logged, as one text. */
  logged(): string
  /** Moves the clock of the calls; codes of authenticator apps go by the real one. */
  passMs(ms: number): void
  nowMs(): number
  newAccount(name?: string): Promise<string>
  /** The token of a new invitation. */
  invite(account_id: string, email: string, role: Role, is_mailed_only?: boolean): Promise<string>
  /** A person who has accepted, signed in in the returned browser. */
  newMember(account_id: string, role: Role, email?: string): Promise<{ browser: TestBrowser; email: string }>
  browser(address?: string): TestBrowser
  close(): Promise<void>
}

/** Cookies and nothing else: what a browser adds to a call of a handler. */
export interface TestBrowser {
  readonly cookies: Map<string, string>
  cookieHeader(): string | undefined
  call<Name extends Routes[number]['name']>(
    name: Name,
    body?: BodyOf<Named<Name>>,
    query?: QueryOf<Named<Name>>,
  ): Promise<ReplyOf<Named<Name>>>
  /** Where the last answer sent this browser. */
  readonly redirectedTo: string | undefined
}

export async function openIdentity(
  options: {
    company?: CompanySettings
    isRealCost?: boolean
    origin?: string
    /** A database that is open already. */
    on?: { database: TestDatabase; keyring: Keyring }
  } = {},
): Promise<TestIdentity> {
  const database = options.on?.database ?? (await openTestDatabase())
  const keyring = options.on?.keyring ?? openKeyring(localKeks(new Map([['k1', randomBytes(32)]]), 'k1'))
  let lines = ''
  const log = createLog('debug', {
    write(line: string) {
      lines += line
    },
  })
  const origin = options.origin ?? ORIGIN
  let aheadMs = 0
  const nowMs = () => Date.now() + aheadMs
  const sessions = await createSessions({
    db: database.dashboard,
    keyring,
    log,
    origin,
    limits: { idleMs: 30 * MINUTE_MS, absoluteMs: 12 * 60 * MINUTE_MS },
    ...(options.company && { company: options.company }),
    ...(!options.isRealCost && { passwordCost: CHEAP }),
  })

  function browser(address = '203.0.113.7'): TestBrowser {
    const cookies = new Map<string, string>()
    const self = {
      cookies,
      redirectedTo: undefined as string | undefined,
      cookieHeader: () =>
        cookies.size === 0 ? undefined : [...cookies].map((pair) => pair.join('=')).join('; '),
      async call(name: string, body: unknown = {}, query: unknown = {}) {
        const handle = (sessions.area as unknown as Record<string, (call: unknown) => Promise<never>>)[name]
        const answer: { reply: never; setCookie?: string[]; redirect?: string } = await (
          handle as (call: unknown) => Promise<never>
        )({
          cookie: self.cookieHeader(),
          address,
          user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
          request_id: 'req_test',
          id: '',
          query,
          body,
          nowMs: nowMs(),
        })
        for (const line of answer.setCookie ?? []) {
          const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          if (line.includes('Max-Age=0;')) cookies.delete(key)
          else cookies.set(key, value)
        }
        self.redirectedTo = answer.redirect
        return answer.reply
      },
    }
    return self as TestBrowser
  }

  async function invite(account_id: string, email: string, role: Role, is_mailed_only = true) {
    const { link } = await database.operator.transaction((tx) =>
      createInvitation(
        tx,
        { keyring, origin },
        { account_id, account_name: 'Acme', email, role, inviter: null, is_mailed_only },
        nowMs(),
      ),
    )
    return link.split('#')[1] as string
  }

  return {
    database,
    sessions,
    keyring,
    logged: () => lines,
    passMs(ms) {
      aheadMs += ms
    },
    nowMs,
    newAccount: async (name = 'Acme') =>
      (await database.operator.transaction((tx) => createAccount(tx, name, nowMs()))).id,
    invite,
    async newMember(account_id, role, email = `${role}-${randomBytes(4).toString('hex')}@example.com`) {
      const token = await invite(account_id, email, role)
      const visitor = browser()
      await visitor.call('acceptInvitation', { token, name: `The ${role}`, password: PASSWORD })
      return { browser: visitor, email }
    },
    browser,
    async close() {
      await sessions.settled()
      await database.close()
    },
  }
}

/** The code that an authenticator app shows, `stepsAhead` of 30 seconds from now. */
export function totpCode(secret: string, stepsAhead = 0): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.toUpperCase()].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + stepsAhead))
  const mac = createHmac('sha1', key).update(counter).digest()
  const offset = (mac.at(-1) as number) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

const STEP_MS = 30_000
const ROOM_MS = 4_000

/** The code before the present one is accepted until the present one ends; this waits for the next if that is close. */
async function roomInStep(): Promise<void> {
  const leftMs = STEP_MS - (Date.now() % STEP_MS)
  // A timer may end a millisecond before its time, which would be the old step still.
  if (leftMs < ROOM_MS) await sleep(leftMs + 100)
}

/** Sets up an authenticator app for the person signed in here. */
export async function enrolTotp(browser: TestBrowser): Promise<{ secret: string; recovery_codes: string[] }> {
  const { secret } = await browser.call('beginTotp', { password: PASSWORD })
  await roomInStep()
  const { recovery_codes } = await browser.call('confirmTotp', { code: totpCode(secret, -1) })
  return { secret, recovery_codes }
}
