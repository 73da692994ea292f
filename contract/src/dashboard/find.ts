import Type, { type Static } from 'typebox'
import { closed } from '../shapes.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const foundKinds = ['order', 'event', 'key', 'transfer', 'request', 'idempotency_key'] as const
export type FoundKind = (typeof foundKinds)[number]

export const Found = closed({
  /** What the given text is. */
  kind: Type.Enum(foundKinds, { type: 'string' }),
  id: Type.String(),
  /** In a few words, such as the status of an order. */
  about: Type.String(),
  /** Of the page that shows it. */
  path: Type.String(),
})
export type Found = Static<typeof Found>

export const findRoutes = [
  {
    name: 'find',
    method: 'GET',
    path: '/api/find',
    access: roles,
    /** Any id, an idempotency key, or the end of an order's id. */
    query: closed({ q: Type.String({ minLength: 1, maxLength: 200 }) }),
    reply: closed({ matches: Type.Array(Found) }),
  },
] as const satisfies readonly DashboardRoute[]
