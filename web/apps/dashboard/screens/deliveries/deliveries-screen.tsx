import { Button } from '@mantine/core'
import { IconRefresh, IconSend } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { LiveMark, NewPill } from '#kit/components/feedback/live-pill.tsx'
import { Page } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { DataTable } from '#kit/components/lists/data-table.tsx'
import { choiceFilter, FilterBar, textFilter } from '#kit/components/lists/filter-bar.tsx'
import { useOpenRow } from '#kit/components/lists/open-row.ts'
import { usePaging } from '#kit/components/lists/pager.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { reportAttention } from '#kit/shell/attention.ts'
import { words } from '#kit/words.ts'
import { type UrlValues, useUrlState } from '#lib/url-state.ts'
import { useHeldRows } from '#lib/use-held-rows.ts'
import type { Query, Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { deliveries } from '../../strings/deliveries.ts'
import { listColumns, phoneRow } from './delivery-columns.tsx'
import { DeliveryPanel } from './delivery-panel.tsx'
import { HoursChart } from './hours-chart.tsx'
import type { Row } from './outcome.tsx'
import { RecoverDialog } from './recover-dialog.tsx'

const { filters } = deliveries
const ROWS = 25

const FILTERS = [
  choiceFilter(filters.state, 'state', filters.states),
  choiceFilter(filters.type, 'type', filters.types),
  choiceFilter(filters.code, 'code', filters.codes),
  textFilter(filters.order, 'order', 'ord_…'),
  choiceFilter(filters.time, 'hours', filters.times),
]

export function DeliveriesScreen() {
  const [url, set] = useUrlState()
  const canBuild = useMay(may.build)
  const [isRecovering, setRecovering] = useState(false)
  const { data: webhook } = useRead('getWebhook')
  const query = queryOf(url)
  const {
    data,
    error,
    refetch,
    isPlaceholderData: isStale,
  } = useRead('listDeliveries', { query }, { keepPrevious: true })
  const held = useHeldRows(
    JSON.stringify(query),
    { rows: data?.deliveries, isStale, isLast: data?.next === null },
    keyOf,
  )
  const paging = usePaging(data)
  const retrying = webhook?.retrying ?? 0
  useEffect(() => reportAttention(paths.deliveries, retrying), [retrying])
  const hasUrl = webhook?.health.webhook_url !== null
  const rows = held.rows
  const open = useOpenRow(rows, ({ event_id }) => event_id)
  return (
    <Page
      title={titleOf(webhook)}
      tab={deliveries.tab}
      meta={<Destination webhook={webhook} />}
      actions={
        canBuild && webhook && hasUrl ? <TestAndRecover onRecover={() => setRecovering(true)} /> : null
      }
    >
      <HoursChart />
      <FilterBar
        filters={FILTERS}
        aside={
          <>
            <NewPill count={held.fresh} label={deliveries.showNew(held.fresh)} onShow={held.show} />
            <LiveMark />
          </>
        }
      />
      <DataTable
        caption={deliveries.caption}
        what={deliveries.what}
        columns={listColumns}
        rows={rows}
        rowId={keyOf}
        onOpen={open.show}
        openId={open.row && keyOf(open.row)}
        phone={phoneRow}
        isRowGone={held.isGone}
        error={error}
        onRetry={() => void refetch()}
        empty={<Nothing isFiltered={isFiltered(url)} hasUrl={hasUrl} onClear={() => set(CLEARED)} />}
        paging={paging}
      />
      {open.id === undefined ? null : <DeliveryPanel key={open.id} id={open.id} {...open.panel} />}
      <RecoverDialog isOpen={isRecovering} onClose={() => setRecovering(false)} />
    </Page>
  )
}

function TestAndRecover({ onRecover }: { readonly onRecover: () => void }) {
  const test = useAct('testWebhook', {
    refresh: ['listDeliveries', 'getWebhook', 'deliveryHours'],
    done: () => [deliveries.testSent, deliveries.testSentMore],
    failed: deliveries.testNotSent,
  })
  return (
    <>
      <Button
        leftSection={<IconSend size={14} aria-hidden />}
        loading={test.isPending}
        onClick={() => test.mutate({})}
      >
        {deliveries.sendTest}
      </Button>
      <Button variant="filled" leftSection={<IconRefresh size={14} aria-hidden />} onClick={onRecover}>
        {deliveries.recover}
      </Button>
    </>
  )
}

/** An event that was sent to two URLs has two rows. */
const keyOf = ({ event_id, endpoint_id }: Row): string => `${event_id}.${endpoint_id}`

function titleOf(webhook: Reply<'getWebhook'> | undefined): string {
  if (!webhook || webhook.state === 'none' || webhook.state === 'unused') return deliveries.titleNone
  const { pending, failed } = webhook.health
  if (pending > 0) return deliveries.title(pending, webhook.retrying)
  return failed > 0 ? deliveries.titleFailed(failed) : deliveries.titleAccepted
}

function Destination({ webhook }: { readonly webhook: Reply<'getWebhook'> | undefined }) {
  if (!webhook) return null
  const { webhook_url } = webhook.health
  if (webhook_url !== null) return <span className="sw-mono">{webhook_url}</span>
  return (
    <>
      {deliveries.noUrl} <AppLink to={paths.webhook}>{deliveries.setUrl}</AppLink>
    </>
  )
}

function Nothing({
  isFiltered,
  hasUrl,
  onClear,
}: {
  readonly isFiltered: boolean
  readonly hasUrl: boolean
  readonly onClear: () => void
}) {
  if (isFiltered) {
    return (
      <EmptyState
        title={deliveries.noResult}
        actions={<Button onClick={onClear}>{words.clearFilters}</Button>}
      >
        {deliveries.noResultBody}
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title={deliveries.none}
      actions={hasUrl ? null : <AppLink to={paths.webhook}>{deliveries.setUrl}</AppLink>}
    >
      {deliveries.noneBody}
    </EmptyState>
  )
}

const NAMES = ['state', 'type', 'code', 'order', 'hours'] as const
const CLEARED = Object.fromEntries(NAMES.map((name) => [name, undefined]))
const isFiltered = (url: UrlValues) => NAMES.some((name) => url[name] !== undefined)
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

function queryOf(url: UrlValues): Query<'listDeliveries'> {
  const { state, type, code, order, hours, before, after } = url
  // By the minute, so that the same filter is the same question for a while.
  const fromMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - Number(hours) * HOUR_MS
  return {
    state,
    type,
    code,
    order_id: order,
    from: hours === undefined || Number.isNaN(fromMs) ? undefined : new Date(fromMs).toISOString(),
    limit: ROWS,
    before,
    after,
  } as Query<'listDeliveries'>
}
