import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { LiveMark, NewPill } from '#kit/components/feedback/live-pill.tsx'
import { Page } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { DataTable } from '#kit/components/lists/data-table.tsx'
import { FilterBar } from '#kit/components/lists/filter-bar.tsx'
import { usePaging } from '#kit/components/lists/pager.tsx'
import { type Selection, SelectionBar, useSelection } from '#kit/components/lists/selection.tsx'
import { StatusTabs } from '#kit/components/lists/status-tabs.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { DownloadButton } from '#kit/components/values/download-button.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { words } from '#kit/words.ts'
import { formatMoney } from '#lib/money.ts'
import { dayKey, dayStart, formatDay, formatLongDay, formatTime } from '#lib/time.ts'
import { type UrlValues, useUrlState } from '#lib/url-state.ts'
import { useHeldRows } from '#lib/use-held-rows.ts'
import { api, type Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { SavedViews } from '../../lists/saved-views.tsx'
import { paths } from '../../paths.ts'
import { orders } from '../../strings/orders.ts'
import { isQuiet, listColumns, type OrderRow, phoneRow } from './order-columns.tsx'
import { useOrderFilters } from './order-filters.tsx'
import { isFiltered, ORDER_FILTERS, type OrderFilters, orderFilters } from './order-query.ts'
import classes from './orders.module.css'

const LIMIT = 25

export function OrdersScreen() {
  const [url, setUrl] = useUrlState()
  const filters = useOrderFilters()
  const query = orderFilters(url)
  const page = { before: url.before, after: url.after }
  const {
    data,
    error,
    refetch,
    isPlaceholderData: isStale,
  } = useRead('listOrders', { query: { ...query, ...page, limit: LIMIT } }, { keepPrevious: true })
  const held = useHeldRows(
    JSON.stringify({ ...url, open: undefined }),
    { rows: data?.orders, isStale, isLast: data?.next === null },
    idOf,
  )
  const selection = useSelection(held.rows, idOf, JSON.stringify(ORDER_FILTERS.map((name) => url[name])))
  const paging = usePaging(data, data && rangeOf(data, held.rows?.length ?? 0, url))
  return (
    <Page
      title={orders.title}
      meta={data ? metaOf(data) : undefined}
      actions={<DownloadButton href={api.href('exportOrders', { query })} label={orders.export} />}
    >
      <StatusTabs label={orders.tabs} name="status" tabs={tabsOf(data)} aside={<LiveMark />} />
      <FilterBar
        search={{ name: 'q', placeholder: orders.search }}
        filters={filters}
        aside={
          <>
            <SavedViews list="orders" names={ORDER_FILTERS} />
            <NewPill count={held.fresh} label={orders.showNew(held.fresh)} onShow={held.show} />
          </>
        }
      />
      <DataTable
        selection={selection}
        caption={orders.caption}
        what={orders.what}
        columns={listColumns}
        rows={held.rows}
        rowId={idOf}
        rowLink={({ id }) => paths.order(id)}
        phone={phoneRow}
        isRowQuiet={isQuiet}
        isRowGone={held.isGone}
        groupBy={{
          key: ({ created_at }) => dayKey(created_at),
          head: ({ created_at }, rows) => (
            <DayHead
              at={created_at}
              filters={query}
              rows={rows}
              isWhole={rows[0] !== held.rows?.[0] && rows.at(-1) !== held.rows?.at(-1)}
            />
          ),
        }}
        error={error}
        onRetry={() => void refetch()}
        empty={<Nothing url={url} data={data} onClear={() => setUrl(noFilters)} />}
        paging={data?.searched_to ? { ...paging, onOlder: undefined } : paging}
      />
      <SelectedOrders selection={selection} />
      {data?.searched_to ? (
        <SearchedTo
          time={formatTime(data.searched_to)}
          hasRows={data.orders.length > 0}
          onMore={() =>
            setUrl(
              url.after === undefined
                ? { before: data.next ?? undefined }
                : { after: data.previous ?? undefined },
            )
          }
        />
      ) : null}
    </Page>
  )
}

const noFilters = Object.fromEntries(ORDER_FILTERS.map((name) => [name, undefined]))
const idOf = ({ id }: OrderRow) => id

const SelectedOrders = ({ selection }: { readonly selection: Selection }) => (
  <SelectionBar selection={selection}>
    <DownloadButton
      href={api.href('exportOrders', { query: { ids: selection.ids.join() } })}
      label={orders.exportSelected}
    />
  </SelectionBar>
)

function tabsOf(data: Reply<'listOrders'> | undefined) {
  return (['all', 'paid', 'delivered', 'cancelled'] as const).map((value) => ({
    value,
    word: orders.statuses[value],
    count: data?.counts[value] ?? undefined,
  }))
}

function metaOf({ account }: Reply<'listOrders'>): string {
  const { first_at, worth_cents } = account
  const since = first_at === null ? null : formatDay(first_at)
  return orders.meta(account.orders, since, worth_cents === null ? null : formatMoney(worth_cents))
}

function rangeOf({ counts }: Reply<'listOrders'>, shown: number, { status }: UrlValues): string {
  const tab = (['paid', 'delivered', 'cancelled'] as const).find((known) => known === status) ?? 'all'
  return orders.range(shown, counts[tab])
}

interface DayHeadProps {
  readonly at: string
  readonly filters: OrderFilters
  readonly rows: readonly OrderRow[]
  /** The page has orders of an earlier and of a later day, so it has all of this one. */
  readonly isWhole: boolean
}

/** The rule above the orders of a day: all that pass the filters, also those on other pages. */
function DayHead({ at, filters, rows, isWhole }: DayHeadProps): ReactNode {
  const day = dayKey(at)
  const [from, to] = [dayStart(day), dayStart(day, 1)]
  const { data } = useRead(
    'sumOrders',
    {
      query: {
        ...filters,
        from: filters.from !== undefined && filters.from > from ? filters.from : from,
        to: filters.to !== undefined && filters.to < to ? filters.to : to,
      },
    },
    { enabled: !isWhole },
  )
  const sums = isWhole ? sumsOf(rows) : data
  const isToday = day === dayKey(new Date().toISOString())
  const name = formatLongDay(at)
  return (
    <span className={classes.day}>
      <span>
        <strong>{isToday ? `${orders.today}, ${name.split(' ').slice(1).join(' ')}` : name}</strong>{' '}
        <span className="sw-meta">
          {sums === undefined
            ? null
            : sums.orders === null
              ? orders.dayUncounted
              : orders.dayOrders(sums.orders)}
        </span>
      </span>
      <span className={classes.daySum}>
        {sums === undefined || sums.spent_cents === null ? null : <Money cents={sums.spent_cents} />}
      </span>
    </span>
  )
}

function sumsOf(rows: readonly OrderRow[]): Reply<'sumOrders'> {
  const spent = rows.filter(({ status }) => status !== 'cancelled')
  return {
    orders: rows.length,
    spent_cents: spent.reduce((cents, { total_cents }) => cents + total_cents, 0),
  }
}

function Nothing({
  url,
  data,
  onClear,
}: {
  readonly url: UrlValues
  readonly data: Reply<'listOrders'> | undefined
  readonly onClear: () => void
}) {
  const { empty, noResult } = orders
  if (data?.searched_to) return null
  if (!isFiltered(url) || data?.account.orders === 0) {
    return (
      <EmptyState title={empty.title} actions={<AppLink to={paths.home}>{empty.action}</AppLink>}>
        {empty.body}
      </EmptyState>
    )
  }
  const isOnlySearch = url.q !== undefined && !isFiltered({ ...url, q: undefined })
  return (
    <EmptyState
      title={noResult.title(isOnlySearch ? noResult.search(url.q ?? '') : noResult.filtered)}
      actions={<Button onClick={onClear}>{words.clearFilters}</Button>}
    >
      {noResult.body(orders.range(data?.account.orders ?? 0, null))}
    </EmptyState>
  )
}

/** The search for rare orders stops after so many rows, so that no answer takes long. It says how far it came. */
function SearchedTo({
  time,
  hasRows,
  onMore,
}: {
  readonly time: string
  readonly hasRows: boolean
  readonly onMore: () => void
}) {
  const { searched } = orders
  return (
    <div role="status">
      <EmptyState title={searched.title(time)} actions={<Button onClick={onMore}>{searched.more}</Button>}>
        {hasRows ? searched.found : searched.none}
      </EmptyState>
    </div>
  )
}
