import { Button } from '@mantine/core'
import { api, type Query, type Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { AppLink } from '../../components/app-link.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DownloadButton } from '../../components/download-button.tsx'
import { FilterBar, textFilter } from '../../components/filter-bar.tsx'
import { LiveMark, NewPill } from '../../components/live-pill.tsx'
import { Page } from '../../components/page.tsx'
import { usePaging } from '../../components/pager.tsx'
import { EmptyState } from '../../components/states.tsx'
import { StatusTabs } from '../../components/status-tabs.tsx'
import { dayKey, formatDay, formatTime } from '../../lib/time.ts'
import { useUrlState } from '../../lib/url-state.ts'
import { useHeldRows } from '../../lib/use-held-rows.ts'
import { paths } from '../../paths.ts'
import { orders } from '../../strings/orders.ts'
import { orderColumns, orderKeyColumn, orderOnPhone } from './order-columns.tsx'
import { dayFilter, isFiltered, listQuery, totalFilter } from './order-filters.tsx'

const columns = [...orderColumns.slice(0, 3), orderKeyColumn, ...orderColumns.slice(3)]
const filters = [
  dayFilter(orders.filters.from, 'from'),
  dayFilter(orders.filters.to, 'to'),
  totalFilter(orders.filters.total),
  textFilter(orders.filters.key, 'key', 'key_…'),
  textFilter(orders.filters.item, 'item'),
]
const FILTER_NAMES = ['q', 'status', 'from', 'to', 'min', 'max', 'key', 'item']

/** Every purchase of the account, newest first. */
export function OrdersScreen() {
  const [url, setUrl] = useUrlState()
  const query = listQuery(url)
  const { data, error, refetch } = useRead('listOrders', { query }, { live: ['orders'], keepPrevious: true })
  const held = useHeldRows(JSON.stringify(query), data?.orders, ({ id }) => id)
  const paging = usePaging(data, rangeOf(data))
  const { before: _, after: __, ...exported } = query
  return (
    <Page
      title={orders.title}
      meta={
        data
          ? orders.meta(
              data.account.orders,
              data.account.first_at && formatDay(data.account.first_at),
              data.account.worth_cents,
            )
          : undefined
      }
      actions={
        <DownloadButton
          href={api.href('exportOrders', { query: exported as Query<'exportOrders'> })}
          label={orders.export}
        />
      }
    >
      <StatusTabs
        label={orders.status}
        name="status"
        tabs={(['all', 'paid', 'delivered', 'cancelled'] as const).map((value) => ({
          value,
          word: orders.tabs[value],
          count: data?.counts[value] ?? undefined,
        }))}
        aside={
          <>
            <NewPill count={held.fresh} label={orders.showNew(held.fresh)} onShow={held.show} />
            <LiveMark />
          </>
        }
      />
      <FilterBar search={{ name: 'q', placeholder: orders.search }} filters={filters} />
      <DataTable
        caption={orders.caption}
        what={orders.title}
        columns={columns}
        rows={held.rows}
        rowId={({ id }) => id}
        rowLink={({ id }) => paths.order(id)}
        phone={orderOnPhone}
        groupBy={{
          key: ({ created_at }) => dayKey(created_at),
          head: (first, all) =>
            orders.dayHead(
              formatDay(first.created_at),
              all.length,
              all.reduce((sum, { total_cents }) => sum + total_cents, 0),
            ),
        }}
        error={error}
        onRetry={() => void refetch()}
        empty={
          isFiltered(url) || url.before !== undefined || url.after !== undefined ? (
            <EmptyState
              title={orders.noResult.title}
              actions={
                <Button
                  onClick={() => setUrl(Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined])))}
                >
                  {orders.noResult.clear}
                </Button>
              }
            >
              {data?.searched_to ? orders.searchedTo(formatTime(data.searched_to)) : orders.noResult.body}
            </EmptyState>
          ) : (
            <EmptyState
              title={orders.empty.title}
              actions={<AppLink to={paths.catalogue}>{orders.empty.action}</AppLink>}
            >
              {orders.empty.body}
            </EmptyState>
          )
        }
        paging={paging}
      />
    </Page>
  )
}

function rangeOf(data: Reply<'listOrders'> | undefined): string | undefined {
  return data?.searched_to ? orders.searchedTo(formatTime(data.searched_to)) : undefined
}
