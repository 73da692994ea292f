import Type, { type Static } from 'typebox'
import { closed } from '../shapes.ts'
import { AuditFilters } from './audit.ts'
import { DeliveryFilters } from './deliveries.ts'
import { Day, TransferFilters } from './money.ts'
import { OrderFilters } from './orders.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

// Filters of a list that somebody has saved under a name, for themselves in one account.

export const VIEW_NAME_LENGTH_MAX = 40
/** Of one person, for one list. */
export const VIEWS_PER_LIST_MAX = 20
const VIEW_QUERY_LENGTH_MAX = 1_000

const optional = (values: readonly string[]) => Type.Optional(Type.Enum([...values], { type: 'string' }))
const OptionalDay = Type.Optional(Day)
/** Of an amount, as the address has it. */
const OptionalCents = Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' }))

/** Periods that end now, as the addresses of the lists name them. */
const createdRanges = ['24h', '7d', '30d', '90d'] as const
const deliveryHours = ['1', '24', '168'] as const

const { status, q, key_id, item_id } = OrderFilters.properties
const { state, type, code, order_id } = DeliveryFilters.properties
const { kind, month } = TransferFilters.properties

/**
 * What the address of each list may have besides the page and the open row. Where the list's own query takes the same value, this is its
 * schema.
 */
export const viewFilters = {
  orders: closed({
    status,
    q,
    created: optional(createdRanges),
    from: OptionalDay,
    to: OptionalDay,
    min: OptionalCents,
    max: OptionalCents,
    key: key_id,
    item: item_id,
  }),
  deliveries: closed({ state, type, code, order: order_id, hours: optional(deliveryHours) }),
  statement: closed({
    kind,
    month,
    min: OptionalCents,
    max: OptionalCents,
    from: OptionalDay,
    to: OptionalDay,
  }),
  audit: AuditFilters,
} as const

export type ViewList = keyof typeof viewFilters
const List = Type.Enum(Object.keys(viewFilters) as ViewList[], { type: 'string' })

const Id = Type.String({ minLength: 1, maxLength: 64 })
const Name = Type.String({ minLength: 1, maxLength: VIEW_NAME_LENGTH_MAX })
/** The filters as the address has them behind its `?`. */
const Query = Type.String({ minLength: 1, maxLength: VIEW_QUERY_LENGTH_MAX })

export const SavedView = closed({ id: Type.String(), list: List, name: Type.String(), query: Type.String() })
export type SavedView = Static<typeof SavedView>

export const viewRoutes = [
  {
    name: 'listViews',
    method: 'GET',
    path: '/api/views',
    access: roles,
    /** One's own, by list and name. */
    reply: closed({ views: Type.Array(SavedView) }),
  },
  {
    name: 'saveView',
    method: 'POST',
    path: '/api/views/save',
    access: roles,
    body: closed({ list: List, name: Name, query: Query }),
    reply: SavedView,
  },
  {
    name: 'renameView',
    method: 'POST',
    path: '/api/views/rename',
    access: roles,
    body: closed({ id: Id, name: Name }),
    reply: SavedView,
  },
  {
    name: 'deleteView',
    method: 'POST',
    path: '/api/views/delete',
    access: roles,
    body: closed({ id: Id }),
    reply: closed({ ok: Type.Literal(true) }),
  },
] as const satisfies readonly DashboardRoute[]
