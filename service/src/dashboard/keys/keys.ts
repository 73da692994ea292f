import {
  type DashboardKey,
  KEY_HOURS_SHOWN,
  KEY_UNUSED_HOURS_SAFE,
  type keysRoutes,
  scopesWarning,
} from '@shopwire/contract/dashboard'
import type { Admission } from '../../access/admission.ts'
import { createKey, renameKey, revokeKey, rotateKey } from '../../accounts/api-key.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Queryable, Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import type { Log } from '../../platform/observability/log.ts'
import { refuse } from '../../platform/trouble.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import type { Member } from '../member.ts'
import type { MailOwners } from '../team/mail-owners.ts'
import { createdMail, revokedMail, rotatedMail } from './key-mails.ts'
import {
  countKeys,
  type KeyHours,
  type KeyRow,
  selectAddresses,
  selectKeyHours,
  selectKeys,
} from './keys-queries.ts'

export interface KeysDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly keyring: Keyring
  readonly cell: string
  /** The base URL of the API, for snippets: `https://api.shop.example/v1`. */
  readonly apiUrl: string
  /** Opened only when a key is revoked. */
  admission(): Promise<Admission>
  readonly mailOwners: MailOwners
  readonly log: Log
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Live and revoked together. */
const LISTED_MAX = 500
/** Keeps a faulty script from filling the table; operators are not limited. */
const LIVE_MAX = 100
const DAYS_SHOWN = 30
const ADDRESSES_MAX = 20

/** The account's API keys, for its members. */
export const keysArea = (deps: KeysDeps): Area<typeof keysRoutes> => ({
  listKeys: ({ member: { account_id }, nowMs }) =>
    inAccount(deps.db, account_id, async (tx) => {
      const rows = await selectKeys(tx, account_id, null, LISTED_MAX)
      const hours = await hoursOf(tx, account_id, rows, firstHour(nowMs))
      const { live, spending, all_keys } = await countKeys(tx, account_id)
      return {
        keys: besideReplacements(rows).map((row) => presentKey(row, hours.get(row.id), nowMs)),
        live,
        spending,
        revoked_not_listed: Math.max(0, all_keys - rows.length),
      }
    }),

  readKey: ({ member: { account_id }, id, nowMs }) =>
    inAccount(deps.db, account_id, async (tx) => {
      const from = Math.floor((nowMs - DAYS_SHOWN * DAY_MS) / HOUR_MS)
      const row = await oneKey(tx, account_id, id)
      const hours = (await hoursOf(tx, account_id, [row], from)).get(id)
      const addresses = await selectAddresses(tx, account_id, id, new Date(from * HOUR_MS), ADDRESSES_MAX)
      return {
        key: presentKey(row, hours, nowMs),
        addresses: addresses.map(({ address, last_used_at }) => ({
          address,
          last_used_at: last_used_at.toISOString(),
        })),
        days: byDay(hours, nowMs),
      }
    }),

  createKey: async ({ member, body: { name, scopes }, nowMs }) => {
    const made = await deps.act(member, 'key.create', async (tx, at) => {
      await refuseTooMany(tx, member.account_id)
      const result = await createKey(tx, deps.keyring, { ...own(deps, member), name, scopes }, at)
      const after = { name, scopes: result.key.scopes }
      await deps.mailOwners(tx, member, createdMail(result.key), at)
      return { result, target: result.key.id, after }
    })
    return newKey(deps, member, made, nowMs)
  },

  renameKey: ({ member, body: { id, name } }) =>
    deps.act(member, 'key.rename', async (tx) => {
      const { before } = await renameKey(tx, member.account_id, id, name)
      return { result: { id, name }, target: id, before: { name: before }, after: { name } }
    }),

  rotateKey: async ({ member, body: { id }, nowMs }) => {
    const made = await deps.act(member, 'key.rotate', async (tx, at) => {
      await refuseTooMany(tx, member.account_id)
      const result = await rotateKey(tx, deps.keyring, { ...own(deps, member), id }, at)
      const { key, before, renamedTo } = result
      await deps.mailOwners(tx, member, rotatedMail(key, id), at)
      return {
        result,
        target: id,
        before: { name: before.name },
        after: { name: renamedTo, replaced_by: key.id, scopes: key.scopes },
      }
    })
    return newKey(deps, member, made, nowMs)
  },

  revokeKey: async ({ member, body: { id }, nowMs }) => {
    const { account_id } = member
    const before = await inAccount(deps.db, account_id, (tx) => oneKey(tx, account_id, id))
    if (before.revoked_at !== null) return { id, revoked_at: before.revoked_at.toISOString(), in_force: true }
    const { key, access_version } = await deps.act(member, 'key.revoke', async (tx, at) => {
      const result = await revokeKey(tx, id, at)
      await deps.mailOwners(tx, member, revokedMail(result.key), at)
      const { name, last_used_at } = before
      return {
        result,
        target: id,
        before: { name, state: stateOf(before), last_used_at },
        after: { state: 'revoked' },
      }
    })
    const revoked_at = (key.revoked_at ?? new Date(nowMs)).toISOString()
    return { id, revoked_at, in_force: await announce(deps, account_id, access_version) }
  },
})

const own = ({ cell }: KeysDeps, { account_id, person_id, person_name }: Member) => ({
  account_id,
  cell,
  by: { person_id, name: person_name },
})

async function newKey(
  { db, apiUrl }: KeysDeps,
  { account_id }: Member,
  { key, secret }: { key: { id: string }; secret: string },
  nowMs: number,
) {
  const row = await inAccount(db, account_id, (tx) => oneKey(tx, account_id, key.id))
  return { key: presentKey(row, undefined, nowMs), secret, base_url: apiUrl }
}

/** Puts a key that is rotating out directly after the one that replaces it, however old it is. */
function besideReplacements(rows: readonly KeyRow[]): KeyRow[] {
  const isHere = new Set(rows.map(({ id }) => id))
  const isMoved = ({ revoked_at, replaced_by }: KeyRow) =>
    revoked_at === null && replaced_by !== null && isHere.has(replaced_by)
  const moved = Map.groupBy(rows.filter(isMoved), ({ replaced_by }) => replaced_by)
  const withOlder = (row: KeyRow): KeyRow[] => [row, ...(moved.get(row.id) ?? []).flatMap(withOlder)]
  return rows.filter((row) => !isMoved(row)).flatMap(withOlder)
}

async function oneKey(tx: Tx, account_id: string, id: string): Promise<KeyRow> {
  const [row] = await selectKeys(tx, account_id, id, 1)
  if (!row) throw refuse('not_found', 'There is no such key in this account.')
  return row
}

async function hoursOf(
  tx: Tx,
  account_id: string,
  rows: readonly KeyRow[],
  fromHour: number,
): Promise<ReadonlyMap<string, KeyHours>> {
  const ids = rows.map(({ id }) => id)
  const used = await selectKeyHours(tx, account_id, ids, new Date(fromHour * HOUR_MS))
  return new Map(used.map((one) => [one.key_id, one]))
}

async function refuseTooMany(tx: Queryable, account_id: string): Promise<void> {
  const { live } = await countKeys(tx, account_id)
  if (live < LIVE_MAX) return
  throw refuse(
    'conflict',
    `This account has ${live} live keys, and ${LIVE_MAX} is the limit. Revoke those that are not used, then try again.`,
  )
}

/**
 * True once no API process admits a request with the key. When the admission store cannot be reached the key is revoked all the
 * same: API processes follow the database and apply it within a second.
 */
async function announce(deps: KeysDeps, account_id: string, access_version: number): Promise<boolean> {
  try {
    await (await deps.admission()).announce(account_id, access_version)
    return true
  } catch (error) {
    deps.log.warn({ account_id, err: error }, 'a revoked key could not be announced to the admission store')
    return false
  }
}

const firstHour = (nowMs: number) => Math.floor(nowMs / HOUR_MS) - (KEY_HOURS_SHOWN - 1)

function presentKey(row: KeyRow, used: KeyHours | undefined, nowMs: number): DashboardKey {
  const first = firstHour(nowMs)
  const hours = new Array<number>(KEY_HOURS_SHOWN).fill(0)
  let [requests_24h, orders_24h] = [0, 0]
  const { hours: at, requests, orders } = used ?? NO_HOURS
  for (const [n, hour] of at.entries()) {
    const place = hour - first
    if (place < 0 || place >= KEY_HOURS_SHOWN) continue
    hours[place] = requests[n] ?? 0
    if (place < KEY_HOURS_SHOWN - 24) continue
    requests_24h += requests[n] ?? 0
    orders_24h += orders[n] ?? 0
  }
  const unusedMs = row.last_used_at === null ? Number.POSITIVE_INFINITY : nowMs - row.last_used_at.getTime()
  const state = stateOf(row)
  return {
    id: row.id,
    name: row.name,
    scopes: [...row.scopes],
    created_at: row.created_at.toISOString(),
    created_by: row.created_by_name ?? 'operator',
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    last_address: row.last_address,
    requests_24h,
    orders_24h,
    hours,
    state,
    replaces: row.rotated_from,
    replaced_by: row.replaced_by,
    safe_to_revoke: state === 'rotating_out' && unusedMs >= KEY_UNUSED_HOURS_SAFE * HOUR_MS,
    warning: row.revoked_at === null ? scopesWarning(row.scopes) : null,
  }
}

function stateOf({ revoked_at, replaced_by, last_used_at }: KeyRow): DashboardKey['state'] {
  if (revoked_at !== null) return 'revoked'
  if (replaced_by !== null) return 'rotating_out'
  return last_used_at === null ? 'never_used' : 'active'
}

function byDay(used: KeyHours | undefined, nowMs: number) {
  const { hours, requests, orders } = used ?? NO_HOURS
  const last = Math.floor(nowMs / DAY_MS)
  const days = Array.from({ length: DAYS_SHOWN }, (_, n) => ({
    day: new Date((last - DAYS_SHOWN + 1 + n) * DAY_MS).toISOString().slice(0, 10),
    requests: 0,
    orders: 0,
  }))
  for (const [n, hour] of hours.entries()) {
    const day = days[Math.floor(hour / 24) - last + DAYS_SHOWN - 1]
    if (!day) continue
    day.requests += requests[n] ?? 0
    day.orders += orders[n] ?? 0
  }
  return days
}

const NO_HOURS: KeyHours = { key_id: '', hours: [], requests: [], orders: [] }
