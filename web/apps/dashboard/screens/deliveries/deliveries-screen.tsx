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
import { useSelection } from '#kit/components/lists/selection.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { DownloadButton } from '#kit/components/values/download-button.tsx'
import { reportAttention } from '#kit/shell/attention.ts'
import { words } from '#kit/words.ts'
import { useUrlState } from '#lib/url-state.ts'
import { useHeldRows } from '#lib/use-held-rows.ts'
import { api, type Query, type Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { SavedViews } from '../../lists/saved-views.tsx'
import { paths } from '../../paths.ts'
import { deliveries } from '../../strings/deliveries.ts'
import { listColumns, phoneRow } from './delivery-columns.tsx'
import { DeliveryPanel } from './delivery-panel.tsx'
import { CLEARED, DELIVERY_FILTERS, deliveryFilters, isFiltered, queryOf } from './delivery-query.ts'
import { HoursChart } from './hours-chart.tsx'
import type { Row } from './outcome.tsx'
import { RecoverDialog } from './recover-dialog.tsx'
import { SelectedDeliveries } from './selected-deliveries.tsx'

const { filters } = deliveries

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
  const selection = useSelection(held.rows, keyOf, JSON.stringify(DELIVERY_FILTERS.map((name) => url[name])))
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
        <Actions
          filters={deliveryFilters(url)}
          onRecover={canBuild && webhook && hasUrl ? () => setRecovering(true) : undefined}
        />
      }
    >
      <HoursChart />
      <FilterBar
        filters={FILTERS}
        aside={
          <>
            <SavedViews list="deliveries" names={DELIVERY_FILTERS} />
            <NewPill count={held.fresh} label={deliveries.showNew(held.fresh)} onShow={held.show} />
            <LiveMark />
          </>
        }
      />
      <DataTable
        selection={selection}
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
      <SelectedDeliveries selection={selection} canResend={canBuild && hasUrl} />
      {open.id === undefined ? null : <DeliveryPanel key={open.id} id={open.id} {...open.panel} />}
      <RecoverDialog isOpen={isRecovering} onClose={() => setRecovering(false)} />
    </Page>
  )
}

interface ActionsProps {
  readonly filters: Query<'exportDeliveries'>
  /** Undefined: the reader may not, or there is no URL. */
  readonly onRecover: (() => void) | undefined
}

function Actions({ filters, onRecover }: ActionsProps) {
  const test = useAct('testWebhook', {
    refresh: ['listDeliveries', 'getWebhook', 'deliveryHours'],
    done: () => [deliveries.testSent, deliveries.testSentMore],
    failed: deliveries.testNotSent,
  })
  return (
    <>
      <DownloadButton href={api.href('exportDeliveries', { query: filters })} label={deliveries.exportAll} />
      {onRecover ? (
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
      ) : null}
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
