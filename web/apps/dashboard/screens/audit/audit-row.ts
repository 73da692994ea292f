import type { Reply } from '../../api/client.ts'

export type AuditRow = Reply<'listAudit'>['rows'][number]
