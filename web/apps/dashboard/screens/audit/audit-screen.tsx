import { Button } from '@mantine/core'
import { useMemo } from 'react'
import { Page } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { choiceFilter, type Filter, FilterBar, textFilter } from '#kit/components/lists/filter-bar.tsx'
import { useOpenRow } from '#kit/components/lists/open-row.ts'
import { usePaging } from '#kit/components/lists/pager.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { dayKey, formatLongDay } from '#lib/time.ts'
import { useUrlState } from '#lib/url-state.ts'
import { useRead } from '../../api/hooks.ts'
import { SavedViews } from '../../lists/saved-views.tsx'
import { audit } from '../../strings/audit.ts'
import { actionWords } from './action-words.ts'
import { AuditPanel } from './audit-panel.tsx'
import { AUDIT_FILTERS, type AuditRow } from './audit-row.ts'
import type { Names } from './changes.ts'
import { Target } from './target.tsx'

export function AuditScreen() {
  const [url, setUrl] = useUrlState()
  const { before, after, person_id, action, target } = url
  const { data, error, refetch } = useRead(
    'listAudit',
    { query: { before, after, person_id, action, target } },
    { keepPrevious: true },
  )
  const { data: team } = useRead('getTeam')
  const filters: readonly Filter[] = [
    choiceFilter(
      audit.filters.person,
      'person_id',
      team?.members.map(({ person_id: id, name }) => [id, name]) ?? [],
    ),
    choiceFilter(audit.filters.action, 'action', audit.kinds),
    textFilter(audit.filters.target, 'target', audit.targetPlaceholder),
  ]
  const names = useMemo(() => new Map(team?.members.map(({ person_id, name }) => [person_id, name])), [team])
  const columns = useMemo(() => columnsWith(names), [names])
  const paging = usePaging(data)
  const rows = data?.rows
  const open = useOpenRow(rows, ({ id }) => id)
  const set = filters.flatMap((filter) => {
    const shown = filter.shown(url)
    return shown === undefined ? [] : [`${filter.label} ${shown}`]
  })
  return (
    <Page title={audit.title} meta={audit.meta}>
      <FilterBar filters={filters} aside={<SavedViews list="audit" names={AUDIT_FILTERS} />} />
      <DataTable
        caption={audit.caption}
        what={audit.title}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        onOpen={open.show}
        openId={open.row?.id}
        groupBy={{
          key: ({ at }) => dayKey(at),
          head: (first) => <span className="sw-strong">{formatLongDay(first.at)}</span>,
        }}
        phone={(row) => ({
          top: [actionWords(row.action), <Time key="at" at={row.at} as="short" />],
          bottom: [row.actor_name, <Target key="target" row={row} names={names} />],
        })}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <Nothing
            set={set}
            onClear={() => setUrl(Object.fromEntries(AUDIT_FILTERS.map((name) => [name, undefined])))}
          />
        }
        paging={paging}
      />
      {open.row ? <AuditPanel row={open.row} names={names} {...open.panel} /> : null}
    </Page>
  )
}

interface NothingProps {
  /** The filters that are set, in words. */
  readonly set: readonly string[]
  readonly onClear: () => void
}

function Nothing({ set, onClear }: NothingProps) {
  if (set.length === 0) return <EmptyState title={audit.none}>{audit.noneBody}</EmptyState>
  return (
    <EmptyState title={audit.noResult} actions={<Button onClick={onClear}>{words.clearFilters}</Button>}>
      {audit.noResultBody(set.join(', '))}
    </EmptyState>
  )
}

const columnsWith = (names: Names): readonly Column<AuditRow>[] => [
  {
    id: 'action',
    header: audit.columns.action,
    cell: ({ action }) => <span className="sw-strong">{actionWords(action)}</span>,
  },
  {
    id: 'target',
    header: audit.columns.target,
    cell: (row) => <Target row={row} names={names} />,
    width: '30%',
  },
  { id: 'who', header: audit.columns.who, cell: ({ actor_name }) => actor_name, width: '20%' },
  {
    id: 'from',
    header: audit.columns.from,
    hideBelow: 'lg',
    cell: ({ address }) => <span className="sw-mono sw-quiet">{address ?? words.none}</span>,
    width: '150px',
  },
  {
    id: 'time',
    header: audit.columns.time,
    align: 'right',
    width: '96px',
    cell: ({ at }) => (
      <span className="sw-dim">
        <Time at={at} as="clock" />
      </span>
    ),
  },
]
