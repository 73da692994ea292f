import type { RecoveryComparison, RecoveryState } from '../../operations/actions/recovery-actions.ts'
import type { LostLink } from '../../orders/journal/compare-journal.ts'
import type { LostAnswer } from '../../orders/journal/lost-orders.ts'
import { nameIdentity } from '../../platform/database/database-identity.ts'
import type { SupplierBalance } from '../../supply/house-ledger.ts'
import { day, table } from '../terminal/print.ts'

/** One order of the journal whose delivery is missing in this database. */
export interface LostOrder {
  readonly order_id: string
  readonly account_id: string
  readonly delivered_at: Date
  readonly links: number
  readonly items: readonly string[]
  readonly status: LostLink['order_status']
  readonly is_acknowledged: boolean
}

const ORDERS_SHOWN_MAX = 50

export function describeRecovery(state: RecoveryState): string {
  const { database, is_same_database, journal, outside, compared } = state
  const { recorded, present, confirmed_at, confirmed_by, generation } = database
  const lines = [
    `Confirmed  ${nameIdentity(recorded)}  on ${day(confirmed_at)} UTC by ${confirmed_by}, generation ${generation}`,
    `Present    ${nameIdentity(present)}`,
    `Journal    ${describeJournal(state)}`,
    `Failover   ${describePolicy(state)}`,
  ]
  if (database.is_confirmed)
    return [...lines, 'The store is open on this database: there is nothing to recover.'].join('\n')
  if (present.timeline === null)
    return [...lines, 'This server is a standby. Promote it, or point to its primary.'].join('\n')
  lines.push(describeCause(state), ...describeMissing(state))
  if (is_same_database && database.behind_since === null) {
    return [
      ...lines,
      database.journal_problem === null
        ? 'Start a worker with SHOPWIRE_JOURNAL: it compares within a second, and the store opens automatically when nothing is missing.'
        : `A worker tried, but ${database.journal_problem}\nIt tries every second; the store opens automatically when nothing is missing.`,
      'If the journal is lost:',
      `  shopwire-admin recover open --identity ${nameIdentity(present)} --without-journal`,
    ].join('\n')
  }
  lines.push(
    'Nothing is sold, delivered, sent, refunded or bought: new orders get 503, reads work.',
    '',
    'What to do:',
    '1. Stop every process that still uses the old database.',
  )
  if (journal === null) {
    return [
      ...lines,
      '2. There is no journal to compare with. Find out from the logs of your proxy, your suppliers and your callers which links were',
      '   sold in the missing time, and take them out of the pools.',
      '3. Then, and only then:',
      `   shopwire-admin recover open --identity ${nameIdentity(present)} --without-journal`,
    ].join('\n')
  }
  const isDone = compared !== null && (outside === null || compared.is_complete)
  return [
    ...lines,
    '2. See what was sold in the missing time, then set it aside:',
    '   shopwire-admin recover compare',
    `   shopwire-admin recover compare --apply${isDone ? `      (done ${day(compared.at)} UTC)` : ''}`,
    '3. Open the store:',
    `   shopwire-admin recover open --identity ${nameIdentity(present)}`,
  ].join('\n')
}

function describeJournal({ database, journal }: RecoveryState): string {
  if (journal === null && database.journal_id === null)
    return 'none: after a restore it is unknown which links were sold. Set SHOPWIRE_JOURNAL for the workers'
  if (journal === null)
    return `${database.journal_id}, not found here: set SHOPWIRE_JOURNAL or give --journal`
  return `${journal.journal_id}, kept since ${day(journal.kept_since)} UTC`
}

export function describePolicy({ database: { failover, journal_id } }: RecoveryState): string {
  if (failover === 'ask') return 'ask: an operator opens the store after every failover'
  return journal_id === null
    ? 'synchronous, but without a journal an operator opens the store after every failover'
    : 'synchronous: a worker opens the store on a synchronous standby that was promoted and lacks nothing'
}

function describeCause({ database, is_same_database }: RecoveryState): string {
  const { recorded, present, behind_why } = database
  if (is_same_database && behind_why === null)
    return 'The database server was started, and no worker has compared it with the journal since.'
  if (is_same_database) return `The same server, but an earlier state of the store: ${behind_why}.`
  if (nameIdentity(recorded) === nameIdentity(present))
    return 'The same server, but another copy of the data: a dump was restored into it, or the tables were rewritten (vacuum full).'
  return recorded.system_identifier === present.system_identifier
    ? 'The timeline differs: the database was restored to a point in time, or a standby was promoted.'
    : 'The system identifier differs: the data were copied or restored to another server, or pg_upgrade was run.'
}

function describeMissing({ database, outside }: RecoveryState): string[] {
  const from = database.position_at
  const first = `Last moment in this database  ${day(from)} UTC`
  if (outside === null)
    return [first, 'Missing: everything since then, until the old server ended. That time is unknown.']
  const missing =
    outside.at > from
      ? `Missing: up to ${duration(outside.at.getTime() - from.getTime())}, from ${day(from)} to ${day(outside.at)} UTC.`
      : 'Missing: at most the last second.'
  return [first, `Last moment in the journal    ${day(outside.at)} UTC`, missing]
}

function duration(ms: number): string {
  const s = Math.max(1, Math.round(ms / 1000))
  if (s < 120) return `${s} seconds`
  if (s < 7_200) return `${Math.round(s / 60)} minutes`
  return s < 172_800 ? `${Math.round(s / 3_600)} hours` : `${Math.round(s / 86_400)} days`
}

export function ordersOf(lost: readonly LostLink[]): LostOrder[] {
  const byOrder = Map.groupBy(lost, ({ order_id }) => order_id)
  return [...byOrder].map(([order_id, links]) => {
    const [first] = links as [LostLink, ...LostLink[]]
    return {
      order_id,
      account_id: first.account_id,
      delivered_at: first.at,
      links: links.length,
      items: [...new Set(links.map(({ item_id }) => item_id))],
      status: first.order_status,
      is_acknowledged: first.is_acknowledged,
    }
  })
}

export function describeComparison(
  comparison: RecoveryComparison,
  recovery: RecoveryState,
  suppliers: readonly SupplierBalance[],
): string {
  const { read_from, links, lost, answered, is_complete, journal, kept } = comparison
  const { database, outside } = recovery
  const count = (where: LostLink['where']) => lost.filter((link) => link.where === where).length
  const will = kept ? 'were' : 'will be'
  const lines = [
    `Read the journal from ${day(read_from)} UTC on: ${links} links were sold, the delivery of ${lost.length} is not in this database.`,
    ...(is_complete
      ? []
      : [
          `INCOMPLETE: the journal is kept since ${day(journal.kept_since)} UTC. What was sold before then, after the last moment in this database, is not known.`,
        ]),
    `  ${count('pool')} are in a pool again: they ${will} set aside, or given back to their own order`,
    `  ${count('own order')} are with their own order, which is not delivered here: they stay there`,
    `  ${count('waiting order')} are with another order that waits: they ${will} taken from it and set aside`,
    `  ${count('nowhere')} are not in this database: no pool and no supplier can bring them again for another order`,
    ...(count('delivered order') > 0
      ? [`  ${count('delivered order')} were delivered to another order here: compare these orders by hand`]
      : []),
    ...(kept
      ? [
          '',
          `Done: ${kept.recorded} links recorded, ${kept.set_aside} set aside, ${kept.taken_back} taken back, ${kept.given_back} orders got their links back.`,
        ]
      : []),
    '',
    ...describeOrders(ordersOf(lost)),
    ...describeAnswered(answered, new Set(lost.map(({ order_id }) => order_id))),
    '',
    'Compare by hand, from the last moment in this database on:',
    ...describeSuppliers(suppliers, database.position_at),
    '  Callers: orders above that are missing here were paid from balances that are back at their old amount. Agree with each account, and',
    '    book it with "accounts adjust". The same idempotency key would buy again. "shopwire reconcile" on their side lists what they have.',
    '  Receivers of webhooks: events that were sent in that time are not known here. Receivers may have events about orders that do not',
    '    exist here, and get events of other orders a second time, under new ids.',
    '  Payments: top-ups that were credited in that time are not credited here. For cards, resend the events of that time in the',
    '    provider’s dashboard; for transfers, compare the bank statement with "accounts statement". See "topups list".',
    '  Access: keys that were revoked, people who were removed and accounts that were suspended in that time are as they were before.',
    '    Repeat it before you open: the logs of API and dashboard show what was done.',
    '  Stock: links that were loaded in that time and not sold are missing; "pool load" of the same file takes only those.',
  ]
  const next =
    kept || database.is_confirmed
      ? database.is_confirmed
        ? []
        : [
            '',
            'Next:',
            `  shopwire-admin recover open --identity ${nameIdentity(database.present)}${is_complete ? '' : ' --without-journal'}`,
          ]
      : ['', 'Nothing was changed. Next:', '  shopwire-admin recover compare --apply']
  const until = outside === null ? [] : [`The journal ends at ${day(outside.at)} UTC.`]
  return [...until, ...lines, ...next].join('\n')
}

function describeOrders(orders: readonly LostOrder[]): string[] {
  const missing = orders.filter(({ status }) => status === null)
  const waiting = orders.filter(({ status }) => status !== null)
  return [
    `Orders that were delivered and are not in this database: ${missing.length}`,
    ...(missing.length > 0 ? [orderTable(missing), ...notShown(missing)] : []),
    `Orders that were delivered and are not delivered in this database: ${waiting.length}`,
    ...(waiting.length > 0 ? [orderTable(waiting), ...notShown(waiting)] : []),
  ]
}

const notShown = ({ length }: readonly unknown[]) =>
  length > ORDERS_SHOWN_MAX ? [`… and ${length - ORDERS_SHOWN_MAX} more; --json prints all of them.`] : []

/** Those that the journal names are listed already. */
function describeAnswered(answered: readonly LostAnswer[], listed: ReadonlySet<string>): string[] {
  const others = answered.filter(({ order_id }) => !listed.has(order_id))
  if (others.length === 0) return []
  const rows = others.slice(0, ORDERS_SHOWN_MAX).map(({ order_id, account_id }) => [order_id, account_id])
  return [
    `Orders that were answered with 201, not delivered, and are not in this database: ${others.length}`,
    table(['ORDER', 'ACCOUNT'], rows, ''),
    ...notShown(others),
  ]
}

const orderTable = (orders: readonly LostOrder[]) =>
  table(
    ['ORDER', 'ACCOUNT', 'DELIVERED (UTC)', 'LINKS', 'ITEMS', 'HERE', 'NOTE'],
    orders
      .slice(0, ORDERS_SHOWN_MAX)
      .map((one) => [
        one.order_id,
        one.account_id,
        day(one.delivered_at),
        String(one.links),
        one.items.join(','),
        one.status ?? 'missing',
        one.is_acknowledged ? '' : 'its commit was not confirmed',
      ]),
    '',
  )

function describeSuppliers(suppliers: readonly SupplierBalance[], from: Date): string[] {
  if (suppliers.length === 0) return ['  Suppliers: none.']
  const month = from.toISOString().slice(0, 7)
  return [
    `  Suppliers: ask each for the requests it got since ${day(from)} UTC. Those that are not in its statement are not known here: their links`,
    '    are paid for. Requests that are open here are sent again under their old ids when the store opens; "suppliers unsettled" lists them.',
    ...suppliers.map(
      ({ supplier, open_requests }) =>
        `    ${supplier}: ${open_requests} open here; shopwire-admin suppliers statement ${supplier} --month ${month}`,
    ),
  ]
}
