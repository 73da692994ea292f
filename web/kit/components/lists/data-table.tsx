import { Skeleton, Table } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { media } from '@shopwire/look'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_basic,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { Fragment, type ReactNode, useCallback, useEffect, useMemo, useRef } from 'react'
import { dayKey } from '#lib/time.ts'
import { useDelayed } from '#lib/use-delayed.ts'
import { words } from '../../words.ts'
import { ErrorState } from '../feedback/states.tsx'
import classes from './data-table.module.css'
import { type Column, cellProps, Line, RowLink, SelectBox } from './data-table-row.tsx'
import { Pager, type Paging } from './pager.tsx'
import { useRowKeys } from './row-keys.ts'

export type { Column }

/** The two lines of a row on a phone: state and outcome above, what and how below. */
export interface PhoneRow {
  readonly top: readonly [ReactNode, ReactNode?]
  readonly bottom: readonly [ReactNode, ReactNode?]
}

/** Rows that are selected together: see selection.tsx. */
export interface RowSelection {
  isSelected(id: string): boolean
  /** `isRange`: with every row since the last one that was selected. */
  toggle(id: string, isRange: boolean): void
  /** Of the rows that are shown. */
  readonly shown: 'all' | 'some' | 'none'
  toggleShown(): void
}

export interface DataTableProps<Row> {
  /** For screen readers: what the table lists, and in which order. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** Undefined while loading. */
  readonly rows: readonly Row[] | undefined
  readonly rowId: (row: Row) => string
  /** Where a row leads. The first cell becomes the link. */
  readonly rowLink?: ((row: Row) => string) | undefined
  /** What opens beside the table instead. The first cell becomes a button. */
  readonly onOpen?: ((row: Row) => void) | undefined
  /** The row that is open beside the table. */
  readonly openId?: string | undefined
  readonly phone: (row: Row) => PhoneRow
  readonly error?: unknown
  readonly onRetry?: () => void
  /** What it lists, for "Orders did not load". */
  readonly what: string
  /** In place of the rows when there are none: <EmptyState>, for nothing yet or for no result. */
  readonly empty: ReactNode
  readonly paging?: Paging | undefined
  /** Rows of one group under one rule, such as a day. */
  readonly groupBy?: {
    readonly key: (row: Row) => string
    readonly head: (first: Row, all: readonly Row[]) => ReactNode
  }
  /** 60 px rows, for cells with two lines. */
  readonly isTall?: boolean
  readonly isRowQuiet?: (row: Row) => boolean
  /** Still on the screen, but no longer in the list: said in its first cell. */
  readonly isRowGone?: ((row: Row) => boolean) | undefined
  /** Each row has a box to select it by; `x` does so too. */
  readonly selection?: RowSelection | undefined
  /** First and last cell flush with the page. Not for rows that can be opened: their colour would touch the text. */
  readonly isFlush?: boolean
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() })
const NO_ROWS: never[] = []
const SKELETON_ROWS = 8

/** A real table with a caption. `j` and `k` move, Enter opens, `c` copies the id; on a phone, two-line rows. */
export function DataTable<Row extends object>(props: DataTableProps<Row>) {
  const isPhone = useMediaQuery(media.phone, undefined, { getInitialValueInEffect: false })
  const box = useRef<HTMLDivElement>(null)
  const { rows, error, what, onRetry, empty, paging, openId } = props
  const isSlow = useDelayed(rows === undefined && !error)
  useRowKeys(box, props)
  if (error && rows === undefined) return <ErrorState what={what} error={error} onRetry={onRetry} />
  if (rows === undefined)
    return isSlow ? (
      <Loading columns={props.columns.length} isTall={props.isTall ?? false} />
    ) : (
      <div className={classes.waiting} />
    )
  if (rows.length === 0) {
    return (
      <>
        {empty}
        {paging && (paging.onNewer || paging.onOlder) ? <Pager paging={paging} hasKeys={false} /> : null}
      </>
    )
  }
  return (
    <div ref={box} className={classes.box} data-list data-beside={openId === undefined ? undefined : true}>
      {isPhone ? <PhoneList {...props} rows={rows} /> : <Grid {...props} rows={rows} />}
      {paging ? (
        <Pager
          paging={paging}
          hasKeys={!isPhone && (props.onOpen ?? props.rowLink) !== undefined}
          canSelect={props.selection !== undefined}
        />
      ) : null}
    </div>
  )
}

type Filled<Row> = DataTableProps<Row> & { readonly rows: readonly Row[] }

function Grid<Row extends object>({
  caption,
  columns,
  rows,
  rowId,
  groupBy,
  isTall = false,
  isFlush,
  openId,
  isRowQuiet,
  isRowGone,
  rowLink,
  onOpen,
  selection,
}: Filled<Row>) {
  const definitions = useMemo(() => columns.map((column) => definitionOf<Row>(column)), [columns])
  const data = rows.length > 0 ? (rows as Row[]) : NO_ROWS
  const table = useTable({ features, columns: definitions, data, getRowId: rowId })
  const byId = new Map(columns.map((column) => [column.id, column]))
  const canOpen = rowLink !== undefined || onOpen !== undefined
  const open = useLatest(onOpen as ((row: object) => void) | undefined)
  const select = useLatest(selection?.toggle)
  const today = dayKey(new Date().toISOString())
  const shown = table.getRowModel().rows
  const originals = shown.map(({ original }) => original)
  return (
    <Table
      className={classes.table}
      data-tall={isTall || undefined}
      data-flush={(isFlush ?? !canOpen) || undefined}
      data-selectable={selection && true}
    >
      <caption className="sw-hidden">{caption}</caption>
      {/* Plain elements: Mantine's would be most of what a table of fifty rows takes to draw. */}
      <thead className={classes.head}>
        {table.getHeaderGroups().map((headers) => (
          <tr key={headers.id}>
            {selection ? (
              <th scope="col" className={classes.select}>
                <SelectBox
                  label={words.selection.shown}
                  isSelected={selection.shown === 'all'}
                  isPartly={selection.shown === 'some'}
                  onToggle={selection.toggleShown}
                />
              </th>
            ) : null}
            {headers.headers.map((header) => {
              const column = byId.get(header.column.id)
              const sorted = header.column.getIsSorted()
              return (
                <th
                  key={header.id}
                  scope="col"
                  {...cellProps(column)}
                  aria-sort={
                    column?.sortBy
                      ? sorted === 'asc'
                        ? 'ascending'
                        : sorted === 'desc'
                          ? 'descending'
                          : 'none'
                      : undefined
                  }
                >
                  {column?.sortBy ? (
                    <button
                      type="button"
                      className={classes.sort}
                      onClick={header.column.getToggleSortingHandler()}
                    >
                      {column.header}
                      {sorted === 'asc' ? <IconArrowUp size={12} aria-hidden /> : null}
                      {sorted === 'desc' ? <IconArrowDown size={12} aria-hidden /> : null}
                    </button>
                  ) : (
                    <span className={column?.isHeaderHidden ? 'sw-hidden' : undefined}>{column?.header}</span>
                  )}
                </th>
              )
            })}
          </tr>
        ))}
      </thead>
      <tbody>
        {shown.map((row, n) => (
          <Fragment key={row.id}>
            {headOf(groupBy, originals, n, (head) => (
              <tr className={classes.group}>
                <td colSpan={columns.length + (selection ? 1 : 0)}>{head}</td>
              </tr>
            ))}
            <Line
              id={row.id}
              row={row.original}
              columns={columns as readonly Column<never>[]}
              to={rowLink?.(row.original)}
              onOpen={onOpen && open}
              isOpen={row.id === openId}
              isQuiet={isRowQuiet?.(row.original) ?? false}
              isGone={isRowGone?.(row.original) ?? false}
              isSelected={selection?.isSelected(row.id)}
              onSelect={select}
              today={today}
            />
          </Fragment>
        ))}
      </tbody>
    </Table>
  )
}

/** What stands above the n-th row, if it is the first of its group. */
function headOf<Row>(
  groupBy: DataTableProps<Row>['groupBy'],
  rows: readonly Row[],
  n: number,
  draw: (head: ReactNode) => ReactNode,
): ReactNode {
  const [row, before] = [rows[n], rows[n - 1]]
  if (!groupBy || row === undefined) return null
  const key = groupBy.key(row)
  if (before !== undefined && groupBy.key(before) === key) return null
  const group = rows.filter((other) => groupBy.key(other) === key)
  return draw(groupBy.head(row, group))
}

/** One function for as long as the table is there, which calls the newest. */
function useLatest<Args extends unknown[]>(
  handler: ((...args: Args) => void) | undefined,
): (...args: Args) => void {
  const latest = useRef(handler)
  useEffect(() => {
    latest.current = handler
  })
  return useCallback((...args) => latest.current?.(...args), [])
}

function PhoneList<Row extends object>({
  caption,
  rows,
  rowId,
  phone,
  openId,
  isRowGone,
  groupBy,
  rowLink,
  onOpen,
  selection,
}: Filled<Row>) {
  return (
    <ul className={classes.phone} aria-label={caption}>
      {rows.map((row, n) => {
        const { top, bottom } = phone(row)
        return (
          <Fragment key={rowId(row)}>
            {headOf(groupBy, rows, n, (head) => (
              <li className={classes.phoneGroup}>{head}</li>
            ))}
            <li data-row={rowId(row)} className={classes.phoneRow} data-selectable={selection && true}>
              {selection ? (
                <SelectBox
                  label={words.selection.row(rowId(row))}
                  isSelected={selection.isSelected(rowId(row))}
                  onToggle={(isRange) => selection.toggle(rowId(row), isRange)}
                />
              ) : null}
              <RowLink
                to={rowLink?.(row)}
                onOpen={onOpen && (() => onOpen(row))}
                isOpen={rowId(row) === openId}
              >
                <span className={classes.phoneLine} data-top>
                  <span className={classes.phoneLeft}>
                    {top[0]}
                    {isRowGone?.(row) ? <span className={classes.gone}>{words.noLongerListed}</span> : null}
                  </span>
                  <span className={classes.phoneRight}>{top[1]}</span>
                </span>
                <span className={classes.phoneLine}>
                  <span className={classes.phoneLeft}>{bottom[0]}</span>
                  <span className={classes.phoneRight}>{bottom[1]}</span>
                </span>
              </RowLink>
            </li>
          </Fragment>
        )
      })}
    </ul>
  )
}

function Loading({ columns, isTall }: { readonly columns: number; readonly isTall: boolean }) {
  return (
    <div className={classes.loading} role="status" aria-label={words.loading} data-tall={isTall || undefined}>
      {Array.from({ length: SKELETON_ROWS }, (_, row) => (
        <div key={row} className={classes.loadingRow}>
          {Array.from({ length: Math.min(columns, 6) }, (_, column) => (
            <Skeleton
              key={column}
              height={10}
              radius="xs"
              width={`${44 + ((row * 7 + column * 13) % 40)}%`}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

function definitionOf<Row extends object>({
  id,
  header,
  sortBy,
}: Column<Row>): ColumnDef<typeof features, Row> {
  return sortBy
    ? { id, header, accessorFn: sortBy, sortFn: sortFn_basic, sortUndefined: 'last' }
    : { id, header, enableSorting: false }
}
