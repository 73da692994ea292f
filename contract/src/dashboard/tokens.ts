import Type, { type Static } from 'typebox'
import { closed, DateTime, nullable } from '../shapes.ts'
import { builders } from './roles.ts'
import type { DashboardRoute } from './route.ts'

/** What a personal access token may be used for. It can do nothing else, and never spends. */
export const tokenRights = ['events:listen', 'orders:prove'] as const
export type TokenRight = (typeof tokenRights)[number]

export const TOKEN_FORM = /^swp_[A-Za-z0-9_-]{43}$/
export const TOKEN_DAYS_MAX = 90
/** Of one person in one account. */
export const TOKENS_LIVE_MAX = 20

const Right = Type.Enum([...tokenRights])

export const PersonalToken = closed({
  id: Type.String(),
  name: Type.String(),
  rights: Type.Array(Right),
  /** Events carry gift links in full; without it they are masked. */
  with_links: Type.Boolean(),
  created_at: DateTime,
  expires_at: DateTime,
  last_used_at: nullable(DateTime),
  revoked_at: nullable(DateTime),
  state: Type.Union([Type.Literal('active'), Type.Literal('expired'), Type.Literal('revoked')]),
})
export type PersonalToken = Static<typeof PersonalToken>

/** A person sees and revokes their own tokens in this account; removing the person from it ends them. */
export const tokensRoutes = [
  {
    name: 'listTokens',
    method: 'GET',
    path: '/api/tokens',
    access: builders,
    reply: closed({ tokens: Type.Array(PersonalToken) }),
  },
  {
    name: 'createToken',
    method: 'POST',
    path: '/api/tokens/create',
    access: builders,
    isStepUp: true,
    body: closed({
      name: Type.String({ minLength: 1, maxLength: 100 }),
      rights: Type.Array(Right, { minItems: 1, maxItems: tokenRights.length, uniqueItems: true }),
      with_links: Type.Boolean(),
      days: Type.Integer({ minimum: 1, maximum: TOKEN_DAYS_MAX }),
    }),
    reply: closed({
      token: PersonalToken,
      /** Shown once: only its hash is stored. */
      secret: Type.String(),
      dashboard_url: Type.String(),
    }),
  },
  {
    name: 'revokeToken',
    method: 'POST',
    path: '/api/tokens/revoke',
    access: builders,
    body: closed({ id: Type.String({ minLength: 1, maxLength: 100 }) }),
    reply: closed({ id: Type.String(), revoked_at: DateTime }),
  },
] as const satisfies readonly DashboardRoute[]

/**
 * What the stream of `GET /tokens/events` carries in the data of each `event`. The body is the text that a webhook would carry, byte
 * for byte, unless links are masked.
 */
export interface StreamedEvent {
  readonly id: string
  readonly type: string
  readonly order_id: string | null
  readonly created_at: string
  readonly body: string
  /** `masked`: the token may not see links, and the body has a placeholder for each. */
  readonly links: 'none' | 'included' | 'masked'
}
