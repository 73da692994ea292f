import Type, { type Static } from 'typebox'
import { closed } from '../shapes.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

/** What can change while a page is open. An event says which, never what: the page reads it again, with its own rights. */
export const liveTopics = ['orders', 'balance', 'deliveries', 'webhook', 'keys', 'team'] as const

export type LiveTopic = (typeof liveTopics)[number]

/** The data of each event of the stream. */
export const LiveHint = closed({ topics: Type.Array(Type.Enum([...liveTopics]), { minItems: 1 }) })

export type LiveHint = Static<typeof LiveHint>

/** Names of the events on the stream. */
export const liveEvents = {
  /** Something of these topics has changed. */
  hint: 'hint',
  /** Nothing has changed; a page that hears neither this nor a hint for some time connects again. */
  heartbeat: 'heartbeat',
  /** The session has ended or is in another account, or the membership was removed: the page reads the session instead of connecting again. */
  ended: 'ended',
} as const

/** What an open page reads again by itself, for what no event is sent for: the time, the state of the store. In milliseconds. */
export const readAgainEveryMs = { getHome: 30_000, getStore: 60_000 } as const

export const liveRoutes = [
  { name: 'live', method: 'GET', path: '/api/live', access: roles, reply: null, stream: 'text/event-stream' },
] as const satisfies readonly DashboardRoute[]
