import Type, { type Static } from 'typebox'
import { closed, DateTime, nullable } from '../shapes.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const AUDIT_ROWS_MAX = 100

const Filter = Type.String({ minLength: 1, maxLength: 100 })
const Values = Type.Record(Type.String(), Type.Unknown())

export const AuditRow = closed({
  id: Type.String(),
  at: DateTime,
  /** Null: the store itself or an operator did it. */
  person_id: nullable(Type.String()),
  /** The name at that time; "Shopwire" for the store and its operators. */
  actor_name: Type.String(),
  action: Type.String(),
  target: Type.String(),
  address: nullable(Type.String()),
  request_id: nullable(Type.String()),
  before: nullable(Values),
  after: nullable(Values),
})
export type AuditRow = Static<typeof AuditRow>

const filters = {
  person_id: Type.Optional(Filter),
  /** One action (`key.create`) or one kind of them (`key`). */
  action: Type.Optional(Filter),
  target: Type.Optional(Filter),
}
export const AuditFilters = closed(filters)

export const auditRoutes = [
  {
    name: 'listAudit',
    method: 'GET',
    path: '/api/audit',
    access: roles,
    query: closed({
      /** Cursors: the id of the last or first row of a page. Newest first. */
      before: Type.Optional(Filter),
      after: Type.Optional(Filter),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AUDIT_ROWS_MAX })),
      ...filters,
    }),
    reply: closed({
      rows: Type.Array(AuditRow),
      next: nullable(Type.String()),
      previous: nullable(Type.String()),
    }),
  },
] as const satisfies readonly DashboardRoute[]
