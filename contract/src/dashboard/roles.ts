/** What a person may be in one account. One person may have different roles in several accounts. */
export const roles = ['owner', 'developer', 'finance', 'viewer'] as const

export type Role = (typeof roles)[number]

/** For the `access` of a route; `roles` itself means every member. */
export const ownersOnly: readonly Role[] = ['owner']
export const builders: readonly Role[] = ['owner', 'developer']
export const treasurers: readonly Role[] = ['owner', 'finance']
