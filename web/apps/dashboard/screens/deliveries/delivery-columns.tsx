import type { Column, PhoneRow } from '#kit/components/lists/data-table.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { formatDuration } from '#lib/time.ts'
import { deliveries } from '../../strings/deliveries.ts'
import { Countdown } from './countdown.tsx'
import classes from './deliveries.module.css'
import { Outcome, type Row, RowState } from './outcome.tsx'

const { columns: heads } = deliveries

export const listColumns: readonly Column<Row>[] = [
  { id: 'state', header: heads.state, width: '120px', cell: (row) => <RowState row={row} /> },
  {
    id: 'event',
    header: heads.event,
    width: '168px',
    cell: (row) => <span className="sw-mono">{row.type}</span>,
  },
  {
    id: 'order',
    header: heads.order,
    cell: ({ order_id }) =>
      order_id === null ? (
        words.none
      ) : (
        <>
          <span className={classes.wide}>
            <Id id={order_id} />
          </span>
          <span className={classes.narrow}>
            <Id id={order_id} as="short" />
          </span>
        </>
      ),
  },
  {
    id: 'created',
    header: heads.created,
    width: '150px',
    align: 'right',
    hideBelow: 'lg',
    cell: (row) => (
      <span className="sw-dim">
        <Time at={row.created_at} as="short" />
      </span>
    ),
  },
  {
    id: 'code',
    header: heads.code,
    width: '92px',
    cell: (row) => <Outcome status={row.last_status} error={row.last_error} />,
  },
  {
    id: 'attempt',
    header: heads.attempt,
    width: '84px',
    align: 'right',
    cell: (row) => <Attempts n={row.attempts} />,
  },
  {
    id: 'took',
    header: heads.took,
    width: '84px',
    align: 'right',
    cell: (row) => (
      <span className="sw-dim">{row.last_ms === null ? words.none : formatDuration(row.last_ms)}</span>
    ),
  },
  { id: 'next', header: heads.next, width: '92px', align: 'right', cell: (row) => <NextTry row={row} /> },
]

/** The two lines on a phone: state and next try or last answer above, what and how often below. */
export function phoneRow(row: Row): PhoneRow {
  return {
    top: [
      <RowState key="state" row={row} />,
      row.next_at === null ? (
        <Outcome key="code" status={row.last_status} error={row.last_error} />
      ) : (
        <NextTry key="next" row={row} />
      ),
    ],
    bottom: [
      <span key="what">
        <span className="sw-mono">{row.type}</span>{' '}
        {row.order_id === null ? null : <Id id={row.order_id} as="short" />}
      </span>,
      <span key="how">
        {deliveries.attempts(row.attempts)}
        {row.last_ms === null ? null : `, ${formatDuration(row.last_ms)}`}
      </span>,
    ],
  }
}

const Attempts = ({ n }: { readonly n: number }) => (
  <>
    {n} <span className="sw-quiet">/ 12</span>
  </>
)

function NextTry({ row }: { readonly row: Row }) {
  if (row.next_at !== null) {
    return (
      <span className={row.attempts > 0 ? classes.next : undefined}>
        <Countdown at={row.next_at} />
      </span>
    )
  }
  return <span className="sw-quiet">{row.state === 'failed' ? deliveries.stopped : words.none}</span>
}
