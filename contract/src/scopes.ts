/** What a key may be allowed to do. A key holds any subset; holding a write scope never implies the read scope. */
export const scopes = [
  'account:read',
  'catalogue:read',
  'orders:read',
  'orders:write',
  'webhooks:read',
  'webhooks:write',
] as const

export type Scope = (typeof scopes)[number]
