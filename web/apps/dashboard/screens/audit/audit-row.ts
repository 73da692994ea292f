import type { Reply } from '../../api/client.ts'

/** Names of the filters in the address. */
export const AUDIT_FILTERS = ['person_id', 'action', 'target'] as const

export type AuditRow = Reply<'listAudit'>['rows'][number]
