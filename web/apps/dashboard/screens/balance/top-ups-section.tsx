import { Button } from '@mantine/core'
import { useState } from 'react'
import { Section } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { Status, type StatusKind } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatMoney } from '#lib/money.ts'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'

const { topUps: said, topUp } = balance
const FIRST = 10
const MORE = 100

type Row = Reply<'listTopUps'>['top_ups'][number]

const KINDS: Readonly<Record<Row['state'], StatusKind>> = {
  pending: 'waiting',
  credited: 'accepted',
  review: 'retrying',
  failed: 'failed',
  expired: 'cancelled',
  rejected: 'cancelled',
}

const printed = (reference: string) => reference.replaceAll(/(.{4})(?=.)/g, '$1 ')

/** Every top-up that was asked for, with what became of it. */
export function TopUpsSection({ onInstructions }: { readonly onInstructions: (id: string) => void }) {
  const [limit, setLimit] = useState(FIRST)
  const { data, error, refetch } = useRead('listTopUps', { query: { limit } }, { keepPrevious: true })
  const columns = columnsWith(onInstructions)
  return (
    <Section title={said.title}>
      <DataTable
        caption={said.caption}
        what={said.what}
        columns={columns}
        rows={data?.top_ups}
        rowId={(row) => row.id}
        isFlush
        phone={(row) => ({
          top: [
            <State key="state" row={row} />,
            <Money key="amount" cents={row.credited_cents ?? row.amount_cents} />,
          ],
          bottom: [
            row.provider === 'bank' && row.state === 'pending' ? (
              <Show key="show" row={row} onInstructions={onInstructions} />
            ) : (
              topUp.providers[row.provider][0]
            ),
            <Time key="at" at={row.created_at} as="short" />,
          ],
        })}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title={said.none}>{said.noneBody}</EmptyState>}
      />
      {data?.next != null && limit === FIRST ? (
        <Button size="compact-sm" mt="md" onClick={() => setLimit(MORE)}>
          {said.more}
        </Button>
      ) : null}
    </Section>
  )
}

function State({ row }: { readonly row: Row }) {
  return (
    <span className={classes.state}>
      <Status kind={KINDS[row.state]} word={said.states[row.state]} />
      {row.reversed_cents > 0 ? (
        <span className="sw-meta">{said.takenBack(formatMoney(row.reversed_cents))}</span>
      ) : row.note !== null ? (
        <span className="sw-meta">{row.note}</span>
      ) : null}
    </span>
  )
}

function Show({ row, onInstructions }: { readonly row: Row; readonly onInstructions: (id: string) => void }) {
  return (
    <button type="button" className={classes.link} onClick={() => onInstructions(row.id)}>
      {said.instructions}
    </button>
  )
}

function columnsWith(onInstructions: (id: string) => void): readonly Column<Row>[] {
  return [
    {
      id: 'asked',
      header: said.asked,
      width: '150px',
      cell: (row) => (
        <span className={classes.time}>
          <Time at={row.created_at} />
        </span>
      ),
    },
    { id: 'state', header: said.state, width: '190px', cell: (row) => <State row={row} /> },
    {
      id: 'reference',
      header: said.reference,
      cell: (row) => (
        <span className={classes.way}>
          {topUp.providers[row.provider][0]}, <span className="sw-mono">{printed(row.reference)}</span>{' '}
          {row.provider === 'bank' && row.state === 'pending' ? (
            <Show row={row} onInstructions={onInstructions} />
          ) : null}
        </span>
      ),
    },
    {
      id: 'by',
      header: said.by,
      hideBelow: 'lg',
      width: '130px',
      cell: (row) => <span className={classes.note}>{row.created_by_name}</span>,
    },
    {
      id: 'amount',
      header: said.amount,
      align: 'right',
      width: '120px',
      cell: (row) => <Money cents={row.amount_cents} />,
    },
    {
      id: 'credited',
      header: said.credited,
      align: 'right',
      width: '120px',
      cell: (row) =>
        row.credited_cents === null ? (
          '–'
        ) : (
          <span className="sw-strong">
            <Money cents={row.credited_cents} as="change" />
          </span>
        ),
    },
  ]
}
