import { Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { media } from '@shopwire/look'
import { IconArrowBackUp, IconBuildingBank, IconPlusMinus, IconReceipt } from '@tabler/icons-react'
import { LiveMark, NewPill } from '#kit/components/feedback/live-pill.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { choiceFilter, type Filter, FilterBar } from '#kit/components/lists/filter-bar.tsx'
import { usePaging } from '#kit/components/lists/pager.tsx'
import { amountFilter, dayFilter } from '#kit/components/lists/range-filters.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { useUrlState } from '#lib/url-state.ts'
import { useHeldRows } from '#lib/use-held-rows.ts'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { SavedViews } from '../../lists/saved-views.tsx'
import { paths } from '../../paths.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'
import { monthName, utcDay } from './months.ts'
import { isFiltered, STATEMENT_VIEW, statementQuery } from './statement-filters.ts'

const { statement } = balance
type Row = Reply<'listTransfers'>['transfers'][number]

const ROWS = 25

const ICONS = {
  order: IconReceipt,
  refund: IconArrowBackUp,
  funding: IconBuildingBank,
  adjustment: IconPlusMinus,
} as const

function Entry({ kind }: Pick<Row, 'kind'>) {
  const Icon = ICONS[kind]
  return (
    <span className={classes.entry}>
      <Icon size={16} stroke={1.5} aria-hidden />
      {statement.kinds[kind]}
    </span>
  )
}

/** An order leads to its story; anything else is named by the note that came with it. */
function Reference({ row, as: wanted }: { readonly row: Row; readonly as: 'full' | 'short' }) {
  const isNarrow = useMediaQuery(media.laptop, undefined, { getInitialValueInEffect: false })
  const as = isNarrow ? 'short' : wanted
  if (row.order_id !== null)
    return (
      <Id id={row.order_id} as={as} to={paths.order(row.order_id)} canCopy={as === 'full'} what="order id" />
    )
  return <span className={classes.note}>{row.note ?? row.reference ?? words.none}</span>
}

const columns: readonly Column<Row>[] = [
  {
    id: 'time',
    header: statement.time,
    width: '148px',
    cell: (row) => (
      <span className={classes.time}>
        <Time at={row.created_at} />
      </span>
    ),
  },
  { id: 'entry', header: statement.entry, width: '108px', cell: (row) => <Entry kind={row.kind} /> },
  { id: 'reference', header: statement.reference, cell: (row) => <Reference row={row} as="full" /> },
  {
    id: 'amount',
    header: statement.amount,
    align: 'right',
    width: '116px',
    cell: (row) => (
      <span className="sw-strong">
        <Money cents={row.amount_cents} as="change" />
      </span>
    ),
  },
  {
    id: 'after',
    header: statement.after,
    align: 'right',
    width: '116px',
    cell: (row) => (
      <span className="sw-dim">
        <Money cents={row.balance_after_cents} />
      </span>
    ),
  },
]

interface StatementTableProps {
  readonly month: string
  readonly hasMoney: boolean
  /** Undefined: the reader may not. */
  readonly onAdd: (() => void) | undefined
}

export function StatementTable({ month, hasMoney, onAdd }: StatementTableProps) {
  const [url, set] = useUrlState()
  const named = monthName(month)
  const query = { ...statementQuery(url, month), limit: ROWS, before: url.before, after: url.after }
  const {
    data,
    error,
    refetch,
    isPlaceholderData: isStale,
  } = useRead('listTransfers', { query }, { keepPrevious: true })
  const held = useHeldRows(JSON.stringify(query), { rows: data?.transfers, isStale }, (row) => row.id)
  const searchedTo = data?.searched_back_to ? statement.searchedTo(utcDay(data.searched_back_to)) : undefined
  const paging = usePaging(data, searchedTo)
  return (
    <div className={classes.statement}>
      <FilterBar
        filters={FILTERS}
        aside={
          <>
            <SavedViews list="statement" names={STATEMENT_VIEW} />
            <NewPill count={held.fresh} label={statement.showNew(held.fresh)} onShow={held.show} />
            <LiveMark />
          </>
        }
      />
      <DataTable
        caption={statement.caption}
        what={statement.what}
        columns={columns}
        rows={held.rows}
        rowId={(row) => row.id}
        openId={url.open}
        isFlush={url.open === undefined}
        phone={(row) => ({
          top: [
            <Entry key="entry" kind={row.kind} />,
            <Money key="amount" cents={row.amount_cents} as="change" />,
          ],
          bottom: [
            <Reference key="reference" row={row} as="short" />,
            <span key="after" className={classes.phoneAfter}>
              <Time at={row.created_at} as="short" /> · <Money cents={row.balance_after_cents} />
            </span>,
          ],
        })}
        error={error}
        onRetry={() => void refetch()}
        paging={paging}
        empty={
          isFiltered(url) ? (
            <NoResult onClear={() => set(CLEARED)}>{searchedTo ?? statement.noResultBody(named)}</NoResult>
          ) : url.month === undefined && !hasMoney ? (
            <NothingYet onAdd={onAdd} />
          ) : (
            <EmptyState title={statement.none(named)}>{statement.noneBody}</EmptyState>
          )
        }
      />
    </div>
  )
}

const CLEARED = { kind: undefined, min: undefined, max: undefined, from: undefined, to: undefined }

function NoResult({ onClear, children }: { readonly onClear: () => void; readonly children: string }) {
  return (
    <EmptyState title={statement.noResult} actions={<Button onClick={onClear}>{words.clearFilters}</Button>}>
      {children}
    </EmptyState>
  )
}

function NothingYet({ onAdd }: Pick<StatementTableProps, 'onAdd'>) {
  return (
    <EmptyState
      title={statement.noneYet}
      actions={onAdd ? <Button onClick={onAdd}>{balance.addFunds}</Button> : null}
    >
      {statement.noneYetBody}
    </EmptyState>
  )
}

const FILTERS: readonly Filter[] = [
  choiceFilter(statement.kind, 'kind', Object.entries(statement.kinds)),
  amountFilter(statement.amountFilter, ['min', 'max']),
  dayFilter(statement.dates, ['from', 'to']),
]
