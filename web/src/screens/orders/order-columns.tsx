import type { Reply } from '../../api/client.ts'
import type { Column, PhoneRow } from '../../components/data-table.tsx'
import { Id } from '../../components/id.tsx'
import { Money } from '../../components/money.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { formatDuration } from '../../lib/time.ts'
import { words } from '../../strings/common.ts'
import { orders } from '../../strings/orders.ts'
import classes from './orders.module.css'

export type OrderRow = Reply<'listOrders'>['orders'][number]

/** The same columns on the home page and in the list. */
export const orderColumns: readonly Column<OrderRow>[] = [
  { id: 'order', header: orders.columns.order, width: '168px', cell: ({ id }) => <Id id={id} as="short" /> },
  {
    id: 'status',
    header: orders.columns.status,
    width: '124px',
    cell: ({ status }) => <Status kind={status} />,
  },
  {
    id: 'lines',
    header: orders.columns.lines,
    cell: ({ lines }) => <span className={classes.lines}>{lines}</span>,
  },
  {
    id: 'total',
    header: orders.columns.total,
    align: 'right',
    width: '110px',
    cell: ({ total_cents }) => (
      <span className="sw-strong">
        <Money cents={total_cents} />
      </span>
    ),
  },
  {
    id: 'deliveredIn',
    header: orders.columns.deliveredIn,
    align: 'right',
    width: '110px',
    hideBelow: 'md',
    cell: ({ seconds_to_delivery: seconds }) =>
      seconds === null ? words.none : formatDuration(seconds * 1_000),
  },
  {
    id: 'created',
    header: orders.columns.created,
    align: 'right',
    width: '150px',
    cell: ({ created_at }) => <Time at={created_at} as="short" />,
  },
]

export const orderKeyColumn: Column<OrderRow> = {
  id: 'key',
  header: orders.columns.key,
  hideBelow: 'lg',
  width: '22%',
  cell: ({ idempotency_key }) => <span className={classes.key}>{idempotency_key}</span>,
}

export const orderOnPhone = (row: OrderRow): PhoneRow => ({
  top: [<Status key="status" kind={row.status} />, <Money key="total" cents={row.total_cents} />],
  bottom: [row.lines, <Time key="at" at={row.created_at} as="short" />],
})
