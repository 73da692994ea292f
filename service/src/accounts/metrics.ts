/** Statements measured by name; this module has no other metrics. */
export const ACCOUNT_STATEMENTS = { readKey: 'read_key' } as const
