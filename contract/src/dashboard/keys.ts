import Type, { type Static } from 'typebox'
import { type Scope, scopes } from '../scopes.ts'
import { Count, closed, DateTime, nullable } from '../shapes.ts'
import { builders, roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export interface KeyPreset {
  readonly name: 'Read-only' | 'Ordering' | 'Full'
  readonly scopes: readonly Scope[]
  /** One sentence. */
  readonly meaning: string
}

export const keyPresets: readonly KeyPreset[] = [
  {
    name: 'Read-only',
    scopes: ['account:read', 'catalogue:read', 'orders:read', 'webhooks:read'],
    meaning: 'It reads everything, gift links of delivered orders too, and cannot spend.',
  },
  {
    name: 'Ordering',
    scopes: ['catalogue:read', 'orders:read', 'orders:write'],
    meaning: 'It can quote, place orders and read them. Orders spend your balance.',
  },
  {
    name: 'Full',
    scopes,
    meaning: 'It can do everything the API offers: orders, balance, catalogue and webhook.',
  },
]

/** The preset that has exactly these scopes. */
export function presetOf(wanted: readonly string[]): KeyPreset | undefined {
  return keyPresets.find(
    (preset) => preset.scopes.length === wanted.length && preset.scopes.every((one) => wanted.includes(one)),
  )
}

/** Setting a webhook address needs both scopes: its events carry orders. */
export function scopesWarning(wanted: readonly string[]): string | null {
  if (!wanted.includes('webhooks:write') || wanted.includes('orders:read')) return null
  return 'webhooks:write without orders:read can remove the webhook address, but not set one: events carry orders.'
}

export const KEY_HOURS_SHOWN = 36
export const KEY_UNUSED_HOURS_SAFE = 24

const KeyName = Type.String({ minLength: 1, maxLength: 100 })
const KeyId = Type.String({ minLength: 1, maxLength: 100 })
const ScopeName = Type.Enum([...scopes])

export const DashboardKey = closed({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(ScopeName),
  created_at: DateTime,
  /** The person's name when they made it; `operator` for the store's own staff. */
  created_by: Type.String(),
  revoked_at: nullable(DateTime),
  /** To within some seconds. */
  last_used_at: nullable(DateTime),
  /** Null when it was never used, or before addresses were recorded. */
  last_address: nullable(Type.String()),
  requests_24h: Count,
  orders_24h: Count,
  /** Requests in each of the last 36 clock hours, oldest first; the last one is the present hour. */
  hours: Type.Array(Count, { minItems: KEY_HOURS_SHOWN, maxItems: KEY_HOURS_SHOWN }),
  state: Type.Union([
    Type.Literal('active'),
    Type.Literal('never_used'),
    Type.Literal('rotating_out'),
    Type.Literal('revoked'),
  ]),
  /** The key that this one was made to replace. */
  replaces: nullable(Type.String()),
  /** The live key that was made to replace this one. */
  replaced_by: nullable(Type.String()),
  /** Rotating out, and unused for 24 hours. */
  safe_to_revoke: Type.Boolean(),
  warning: nullable(Type.String()),
})
export type DashboardKey = Static<typeof DashboardKey>

/** In the last 30 days, newest first. */
const KeyAddress = closed({ address: Type.String(), last_used_at: DateTime })

const NewKey = closed({
  key: DashboardKey,
  /** Shown once: nobody can read it again. */
  secret: Type.String(),
  /** What the snippets need. */
  base_url: Type.String(),
})

/** Scopes of a key never change. More scopes need a new key, so that what was handed out never becomes more powerful. */
export const keysRoutes = [
  {
    name: 'listKeys',
    method: 'GET',
    path: '/api/keys',
    access: roles,
    reply: closed({
      /** Live ones first, newest first, each followed by the one that it replaces; then the latest revoked ones. */
      keys: Type.Array(DashboardKey),
      live: Count,
      /** Live keys that can spend. */
      spending: Count,
      /** Older revoked keys that are not in the list. */
      revoked_not_listed: Count,
    }),
  },
  {
    name: 'readKey',
    method: 'GET',
    path: '/api/keys/{id}',
    access: roles,
    reply: closed({
      key: DashboardKey,
      addresses: Type.Array(KeyAddress),
      /** By day, UTC, oldest first, the last 30. */
      days: Type.Array(closed({ day: Type.String(), requests: Count, orders: Count })),
    }),
  },
  {
    name: 'createKey',
    method: 'POST',
    path: '/api/keys/create',
    access: builders,
    isStepUp: true,
    body: closed({
      name: KeyName,
      scopes: Type.Array(ScopeName, { minItems: 1, maxItems: scopes.length, uniqueItems: true }),
    }),
    reply: NewKey,
  },
  {
    name: 'renameKey',
    method: 'POST',
    path: '/api/keys/rename',
    access: builders,
    body: closed({ id: KeyId, name: KeyName }),
    reply: closed({ id: Type.String(), name: Type.String() }),
  },
  {
    name: 'rotateKey',
    method: 'POST',
    path: '/api/keys/rotate',
    access: builders,
    isStepUp: true,
    body: closed({ id: KeyId }),
    reply: NewKey,
  },
  {
    name: 'revokeKey',
    method: 'POST',
    path: '/api/keys/revoke',
    access: builders,
    body: closed({ id: KeyId }),
    reply: closed({
      id: Type.String(),
      revoked_at: DateTime,
      /** False: API processes apply it within a second. True: they refuse it already. */
      in_force: Type.Boolean(),
    }),
  },
] as const satisfies readonly DashboardRoute[]
