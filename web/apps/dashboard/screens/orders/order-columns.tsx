import type { Column, PhoneRow } from '#kit/components/lists/data-table.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { formatDuration } from '#lib/time.ts'
import type { Reply } from '../../api/client.ts'
import { orders } from '../../strings/orders.ts'
import classes from './orders.module.css'

export type OrderRow = Reply<'listOrders'>['orders'][number]

const { columns } = orders

/** Also on the home page. `.daySum` of the list is as wide as what follows the total. */
const base: readonly Column<OrderRow>[] = [
  { id: 'status', header: columns.status, width: '112px', cell: ({ status }) => <Status kind={status} /> },
  {
    id: 'lines',
    isBounded: true,
    header: columns.lines,
    cell: ({ lines }) => (
      <span className={classes.lines} title={lines}>
        {lines}
      </span>
    ),
  },
  {
    id: 'total',
    header: columns.total,
    align: 'right',
    width: '104px',
    cell: ({ total_cents }) => (
      <span className="sw-strong">
        <Money cents={total_cents} />
      </span>
    ),
  },
  {
    id: 'deliveredIn',
    header: columns.deliveredIn,
    align: 'right',
    width: '104px',
    hideBelow: 'md',
    cell: (row) => <span className="sw-dim">{deliveredIn(row)}</span>,
  },
]

/** Under rules for the days, so that a clock is enough. */
export const listColumns: readonly Column<OrderRow>[] = [
  {
    id: 'order',
    header: columns.order,
    width: '240px',
    cell: ({ id }) => (
      <>
        <span className={classes.wide}>
          <Id id={id} />
        </span>
        <span className={classes.narrow}>
          <Id id={id} as="short" />
        </span>
      </>
    ),
  },
  {
    id: 'copy',
    header: orders.copyId,
    isHeaderHidden: true,
    width: '40px',
    // Beside the link of the row, not inside it.
    cell: ({ id }) => <CopyButton text={id} what={orders.id} className={classes.copy} />,
  },
  ...base,
  {
    id: 'created',
    header: columns.created,
    align: 'right',
    width: '92px',
    cell: ({ created_at }) => (
      <span className="sw-dim">
        <Time at={created_at} as="clock" />
      </span>
    ),
  },
]

export const latestColumns: readonly Column<OrderRow>[] = [
  { id: 'order', header: columns.order, width: '150px', cell: ({ id }) => <Id id={id} as="short" /> },
  ...base,
  {
    id: 'created',
    header: columns.created,
    align: 'right',
    width: '128px',
    cell: ({ created_at }) => (
      <span className="sw-dim">
        <Time at={created_at} as="short" />
      </span>
    ),
  },
]

export const phoneRow = ({ id, status, lines, total_cents, created_at }: OrderRow): PhoneRow => ({
  top: [<Status key={id} kind={status} />, <Money key={id} cents={total_cents} />],
  bottom: [
    <span key={id} className={classes.lines}>
      {lines}
    </span>,
    <Time key={id} at={created_at} as="short" />,
  ],
})

export const isQuiet = ({ status }: OrderRow) => status === 'cancelled'

export function deliveredIn({ status, seconds_to_delivery }: OrderRow): string {
  if (status === 'cancelled') return orders.refunded
  return seconds_to_delivery === null ? words.none : formatDuration(seconds_to_delivery * 1000)
}
