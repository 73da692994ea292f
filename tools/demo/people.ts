import { createHmac } from 'node:crypto'
import type { Role } from '@shopwire/contract/dashboard'
import type { Member, PastStore } from '@shopwire/service/past-store'

export interface DemoPerson {
  readonly name: string
  readonly email: string
  /** Where they usually sit. */
  readonly address: string
}

/** Only ever in a development store, which is on this machine. Printed at its start. */
export const DEMO_PASSWORD = 'only-for-development'

const person = (name: string, mailbox: string, address: string): DemoPerson => ({
  name,
  email: `${mailbox}@shopwire.localhost`,
  address,
})

export const PEOPLE = {
  owner: person('Maya Lindqvist', 'owner', '203.0.113.21'),
  developer: person('Tomás Rivera', 'developer', '203.0.113.48'),
  finance: person('Ingrid Okafor', 'finance', '203.0.113.77'),
  viewer: person('Sam Whitfield', 'viewer', '203.0.113.130'),
  newcomer: person('Noor Haddad', 'newcomer', '203.0.113.201'),
  neighbour: person('Piotr Zielinski', 'neighbour', '203.0.113.164'),
  contractor: person('Jonas Weber', 'contractor', '203.0.113.9'),
} as const satisfies Record<string, DemoPerson>

export type PersonName = keyof typeof PEOPLE

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0'

/** Somebody who has signed up. */
export interface SignedUp {
  readonly id: string
  readonly person: DemoPerson
  /** Of their authenticator app, once they have set one up. */
  totp_secret: string | null
}

/** Opens the link of an invitation and chooses a password, as the pages would. */
export async function signUp(store: PastStore, link: string, person: DemoPerson): Promise<SignedUp> {
  const call = callOf(store, person)
  const body = { token: tokenIn(link), name: person.name, password: DEMO_PASSWORD }
  const { setCookie } = await store.handlers.acceptInvitation({ ...call, body })
  const session = { ...call, cookie: sessionIn(setCookie), body: undefined }
  const { reply } = await store.handlers.getSession(session)
  return { id: reply.person?.id ?? '', person, totp_secret: null }
}

/** Somebody who has a sign-in joins another account. */
export async function join(store: PastStore, link: string, { person }: SignedUp): Promise<void> {
  const cookie = await signIn(store, person)
  await store.handlers.acceptInvitation({ ...callOf(store, person), cookie, body: { token: tokenIn(link) } })
}

/** From then on a sign-in takes a code as well, so this is the last thing that people do here. */
export async function addTotp(store: PastStore, signedUp: SignedUp): Promise<void> {
  const { person } = signedUp
  const call = { ...callOf(store, person), cookie: await signIn(store, person) }
  const { reply } = await store.handlers.beginTotp({ ...call, body: { password: DEMO_PASSWORD } })
  signedUp.totp_secret = reply.secret
  // Checked against the real time.
  await store.handlers.confirmTotp({ ...call, body: { code: totpCode(reply.secret, Date.now()) } })
}

async function signIn(store: PastStore, person: DemoPerson): Promise<string> {
  const body = { email: person.email, password: DEMO_PASSWORD }
  const { setCookie } = await store.handlers.signInWithPassword({ ...callOf(store, person), body })
  return sessionIn(setCookie)
}

const tokenIn = (link: string) => new URL(link).hash.slice(1)
const sessionIn = (setCookie: readonly string[] = []) => setCookie[0]?.split(';')[0] ?? ''

export function memberOf(store: PastStore, account_id: string, { id, person }: SignedUp, role: Role): Member {
  return {
    person_id: id,
    person_name: person.name,
    email: person.email,
    account_id,
    role,
    session_id: 'ses_demo',
    address: person.address,
    request_id: store.newRequestId(),
  }
}

/** The six digits that an authenticator app shows (RFC 6238). */
export function totpCode(secret: string, nowMs: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / 30_000)))
  const hash = createHmac('sha1', base32(secret)).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 15
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

function base32(text: string): Buffer {
  const bits = [...text.toUpperCase().replaceAll(/[^A-Z2-7]/g, '')]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

function callOf(store: PastStore, { address }: DemoPerson) {
  return {
    cookie: undefined,
    address,
    user_agent: USER_AGENT,
    request_id: store.newRequestId(),
    id: '',
    query: undefined,
    nowMs: store.nowMs(),
  }
}

/** Somebody of a store that was made. */
export interface PersonMade {
  readonly who: PersonName
  readonly id: string
  readonly name: string
  readonly email: string
  /** For their codes; null without an authenticator app. */
  readonly totp_secret: string | null
}

/** For the page on which a developer chooses whom to be. */
export function peopleShown(people: readonly PersonMade[]) {
  return people
    .filter(({ who }) => PLACES[who] !== undefined)
    .map(({ who, name, email, totp_secret }) => ({ name, email, totp_secret, what: PLACES[who] ?? '' }))
}

const PLACES: Partial<Record<PersonName, string>> = {
  owner: 'Owner of Lantern Games, which is busy, and of Kestrel Community, whose webhook fails now and then',
  developer: 'Developer at Lantern Games',
  finance: 'Finance at Lantern Games',
  viewer: 'Viewer at Lantern Games',
  newcomer: 'Owner of Quiet Harbor, which is new and empty',
}
