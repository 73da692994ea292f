import {
  ORDER_ROWS_DEFAULT,
  type OrderFilters,
  type OrderSums,
  type OrdersList,
  type OrdersListQuery,
  type orderRoutes,
} from '@shopwire/contract/dashboard'
import { createOrderedTotal, type OrderedTotal } from '../../ledger/account-days.ts'
import { summaryOf } from '../../orders/placing/prove-key.ts'
import { erasedLinks } from '../../orders/reading/read-orders.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import type { Letter } from '../../platform/mail/letter.ts'
import { timeInId } from '../../platform/text/ids.ts'
import { isolated } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import type { OpensLinks } from '../../supply/gift-link.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import { createRemembered } from '../live/remembered.ts'
import type { MailOwners } from '../team/mail-owners.ts'
import {
  countByStatus,
  countOrders,
  isCounted,
  resolveSearch,
  type Search,
  searchOrders,
} from './order-list-queries.ts'
import { presentRow } from './order-rows.ts'
import { proofOf, readOrderDetail } from './order-story.ts'
import { REVEAL_ACTION, selectLink } from './order-story-queries.ts'
import { ordersCsv } from './orders-csv.ts'

/** The sum of a day is read again with every order; one that takes long to add up may be this old. */
const SUMS_AGE_MS_MAX = 5_000
/** Orders of one day that are added up for its heading. */
const SUMMED_MAX = 100_000

export interface OrdersDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly vault: OpensLinks
  readonly mailOwners: MailOwners
  /** Whom customers ask about an order that is late. */
  readonly contact?: string | undefined
}

export function ordersArea({ db, act, vault, mailOwners, contact }: OrdersDeps): Area<typeof orderRoutes> {
  const orderedTotal = createOrderedTotal()
  const remembered = createRemembered<OrderSums>(SUMS_AGE_MS_MAX)
  return {
    listOrders: ({ member, query }) =>
      inAccount(db, member.account_id, (tx) => listOrders(tx, member.account_id, query, orderedTotal)),

    sumOrders: ({ member: { account_id }, query }) =>
      remembered(`${account_id} ${JSON.stringify(query)}`, () =>
        inAccount(db, account_id, (tx) => sumOrders(tx, account_id, query)),
      ),

    async exportOrders({ member, query, nowMs }) {
      const day = new Date(nowMs).toISOString().slice(0, 10)
      return { filename: `orders-${day}.csv`, content: ordersCsv(db, member.account_id, query) }
    },

    getOrder: ({ member, id, nowMs }) =>
      inAccount(db, member.account_id, (tx) =>
        readOrderDetail(tx, member.account_id, id, { contact, nowMs }),
      ),

    /** The audit row records who saw which link of which order, and never the link. */
    revealLink: ({ member, body: { order_id, n } }) =>
      act(member, REVEAL_ACTION, async (tx, nowMs) => {
        const { account_id } = member
        const found = await selectLink(tx, account_id, order_id, n)
        if (!found) throw noLink(order_id, n)
        const { line, unit, link_sealed, name } = found
        if (!link_sealed) throw refuse('not_found', erasedLinks(order_id, found.erased_at))
        const link = await vault.openFromOrder(link_sealed, { account_id, order_id, line, unit })
        await mailOwners(tx, member, linkRevealedMail(order_id, n, name), nowMs)
        return { result: { link }, target: order_id, after: { link: n } }
      }),

    async getProof({ member, id }) {
      const [proof] = await inAccount(db, member.account_id, (tx) => proofOf(tx, member.account_id, id))
      const content = `${JSON.stringify({ ...proof, summary: summaryOf(proof) }, null, 2)}\n`
      return { filename: `proof-${id}.json`, content }
    },
  }
}

export function linkRevealedMail(order_id: string, n: number, item: string): Letter {
  return {
    subject: `A gift link of ${order_id} was revealed`,
    headline: `Link ${n} of an order was revealed in the dashboard`,
    paragraphs: ['Whoever has seen a link can redeem it.'],
    facts: [
      ['Order', order_id],
      ['Item', isolated(item)],
    ],
    footer: ['If this is not right, remove the person under Team and check the audit log.'],
  }
}

function noLink(order_id: string, n: number) {
  return refuse(
    'not_found',
    `There is no link ${n} in ${order_id}: the order is not in this account, is not delivered, or has fewer links.`,
  )
}

async function listOrders(
  tx: Tx,
  account_id: string,
  query: OrdersListQuery,
  orderedTotal: OrderedTotal,
): Promise<OrdersList> {
  const { before, after, limit = ORDER_ROWS_DEFAULT, ...filters } = query
  if (before !== undefined && after !== undefined)
    throw refuse('invalid_request', 'Give before or after, not both: a page has one direction.')
  const wanted = await resolveSearch(tx, account_id, filters)
  const found = wanted
    ? await searchOrders(tx, account_id, wanted, { before, after }, limit)
    : { rows: [], stoppedAt: undefined }
  const whole = await countByStatus(tx, account_id)
  return {
    ...pageOf(found, { before, after, limit }),
    counts: await countsOf(tx, account_id, filters, whole),
    account: {
      orders: whole.all,
      first_at: whole.first_at?.toISOString() ?? null,
      worth_cents: (await orderedTotal(tx, account_id)) ?? null,
    },
  }
}

async function sumOrders(
  tx: Tx,
  account_id: string,
  { status, ...filters }: OrderFilters,
): Promise<OrderSums> {
  const wanted = await resolveSearch(tx, account_id, filters)
  if (!wanted) return { orders: 0, spent_cents: 0 }
  const found = await countOrders(tx, account_id, wanted, SUMMED_MAX)
  if (!found) return { orders: null, spent_cents: null }
  // The money of cancelled orders is back on the balance.
  const spent = { ...found, cancelled: { ...found.cancelled, cents: 0 } }
  const sums = status === undefined ? Object.values(spent) : [spent[status]]
  return {
    orders: sums.reduce((all, { orders }) => all + orders, 0),
    spent_cents: sums.reduce((all, { cents }) => all + cents, 0),
  }
}

/** Rows newest first, and the cursors of the previous and the next page. */
function pageOf(
  { rows, stoppedAt }: Search,
  { before, after, limit }: { before: string | undefined; after: string | undefined; limit: number },
): Pick<OrdersList, 'orders' | 'next' | 'previous' | 'searched_to'> {
  const isMore = rows.length > limit
  const page = rows.slice(0, limit)
  const newestFirst = after === undefined ? page : page.toReversed()
  const onward = isMore ? (page.at(-1)?.id ?? null) : (stoppedAt ?? null)
  const stoppedMs = !isMore && stoppedAt !== undefined ? timeInId(stoppedAt) : undefined
  const searched_to = stoppedMs === undefined ? null : new Date(stoppedMs).toISOString()
  const orders = newestFirst.map(presentRow)
  if (after !== undefined)
    return { orders, next: newestFirst.at(-1)?.id ?? after, previous: onward, searched_to }
  const previous = before === undefined ? null : (newestFirst[0]?.id ?? before)
  return { orders, next: onward, previous, searched_to }
}

async function countsOf(
  tx: Tx,
  account_id: string,
  { status: _, ...filters }: OrderFilters,
  whole: Awaited<ReturnType<typeof countByStatus>>,
): Promise<OrdersList['counts']> {
  const none = { all: null, paid: null, delivered: null, cancelled: null }
  if (Object.values(filters).some((value) => value !== undefined)) {
    const wanted = await resolveSearch(tx, account_id, filters)
    if (!wanted) return { all: 0, paid: 0, delivered: 0, cancelled: 0 }
    // So many ids are searched for this ending that counting would take as long again.
    const counts = wanted.id_end === undefined ? await countOrders(tx, account_id, wanted) : undefined
    if (!counts) return none
    const [paid, delivered, cancelled] = [
      counts.paid.orders,
      counts.delivered.orders,
      counts.cancelled.orders,
    ]
    return { all: paid + delivered + cancelled, paid, delivered, cancelled }
  }
  const { all, paid, cancelled } = whole
  const areCounted = isCounted(paid) && isCounted(cancelled)
  return {
    all,
    paid: isCounted(paid) ? paid : null,
    delivered: areCounted ? all - paid - cancelled : null,
    cancelled: isCounted(cancelled) ? cancelled : null,
  }
}
