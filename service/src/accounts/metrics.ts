/** Statements whose time is measured one by one; this module counts nothing else. */
export const ACCOUNT_STATEMENTS = { readKey: 'read_key' } as const
