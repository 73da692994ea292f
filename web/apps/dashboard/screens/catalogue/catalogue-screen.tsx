import { Button, SegmentedControl } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconReceipt } from '@tabler/icons-react'
import { Page } from '#kit/components/feedback/page.tsx'
import { EmptyState, ErrorState } from '#kit/components/feedback/states.tsx'
import { FilterBar } from '#kit/components/lists/filter-bar.tsx'
import { Chip } from '#kit/components/values/status.tsx'
import { words } from '#kit/words.ts'
import { type UrlValues, useUrlState } from '#lib/url-state.ts'
import type { Query, Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { catalogue } from '../../strings/catalogue.ts'
import { useCart } from './cart.ts'
import classes from './catalogue.module.css'
import { filtersOf } from './filters.tsx'
import { ItemGrid } from './item-grid.tsx'
import { ItemTable } from './item-table.tsx'
import { QuotePanel } from './quote-panel.tsx'

const LIMIT = 48
/** The open panel is named so in the address. */
const QUOTE = 'quote'
const LOOK_AGAIN_MS = 30_000

/** What is sold, and a cart of it priced for a snippet. */
export function CatalogueScreen() {
  const [url, set] = useUrlState()
  const cart = useCart()
  const { data: summary } = useRead('catalogueSummary', undefined, { refetchEveryMs: LOOK_AGAIN_MS })
  const query = queryOf(url)
  const { data, error, refetch } = useRead(
    'listItems',
    { query },
    { keepPrevious: true, refetchEveryMs: LOOK_AGAIN_MS },
  )
  const isGrid = url.view === 'grid'
  const items = data?.items
  const List = isGrid ? ItemGrid : ItemTable
  return (
    <Page
      title={catalogue.title}
      chip={summary ? <Chip tone="quiet">{catalogue.revision(summary.revision)}</Chip> : null}
      meta={summary ? catalogue.meta(summary.sellable, summary.items) : null}
      actions={
        <Button
          variant="filled"
          leftSection={<IconReceipt size={14} aria-hidden />}
          onClick={() => set({ open: url.open === QUOTE ? undefined : QUOTE })}
          aria-expanded={url.open === QUOTE}
        >
          {catalogue.openCart(cart.lines.length)}
        </Button>
      }
    >
      <FilterBar
        search={{ name: 'q', placeholder: catalogue.search }}
        filters={filtersOf(summary)}
        aside={
          <SegmentedControl
            size="xs"
            aria-label={catalogue.view}
            value={isGrid ? 'grid' : 'table'}
            onChange={(view) => set({ view: view === 'grid' ? view : undefined, open: url.open })}
            data={[
              { value: 'table', label: catalogue.table },
              { value: 'grid', label: catalogue.grid },
            ]}
          />
        }
      />
      {error && !items ? (
        <ErrorState what={catalogue.what} error={error} onRetry={() => void refetch()} />
      ) : items && items.length === 0 ? (
        <Nothing isFiltered={isFiltered(url)} onClear={() => set({ ...CLEARED, open: url.open })} />
      ) : (
        <List items={items} cart={cart} />
      )}
      {data && data.total > LIMIT ? <Pages data={data} offset={query.offset ?? 0} /> : null}
      {url.open === QUOTE ? <QuotePanel cart={cart} onClose={() => set({ open: undefined })} /> : null}
    </Page>
  )
}

function Pages({ data, offset }: { readonly data: Reply<'listItems'>; readonly offset: number }) {
  const [url, set] = useUrlState()
  const go = (to: number) => set({ offset: to > 0 ? String(to) : undefined, open: url.open })
  const end = Math.min(offset + LIMIT, data.total)
  return (
    <nav className={classes.pages} aria-label={catalogue.title}>
      <span className="sw-quiet">{catalogue.range(offset + 1, end, data.total)}</span>
      <Button
        size="compact-sm"
        disabled={offset === 0}
        leftSection={<IconChevronLeft size={14} aria-hidden />}
        onClick={() => go(Math.max(0, offset - LIMIT))}
      >
        {catalogue.previous}
      </Button>
      <Button
        size="compact-sm"
        disabled={end >= data.total}
        rightSection={<IconChevronRight size={14} aria-hidden />}
        onClick={() => go(offset + LIMIT)}
      >
        {catalogue.next}
      </Button>
    </nav>
  )
}

function Nothing({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  if (!isFiltered) return <EmptyState title={catalogue.none}>{catalogue.noneBody}</EmptyState>
  return (
    <EmptyState title={catalogue.noResult} actions={<Button onClick={onClear}>{words.clearFilters}</Button>}>
      {catalogue.noResultBody}
    </EmptyState>
  )
}

const NAMES = ['q', 'type', 'collection', 'sellable', 'least', 'most'] as const
const CLEARED = Object.fromEntries([...NAMES, 'offset'].map((name) => [name, undefined]))
const isFiltered = (url: UrlValues) => NAMES.some((name) => url[name] !== undefined)

/** A whole number of the address, or nothing. */
const whole = (text: string | undefined) =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined

function queryOf(url: UrlValues): Query<'listItems'> {
  return {
    search: url.q,
    type: url.type,
    collection: url.collection,
    sellable: url.sellable,
    price_min: whole(url.least),
    price_max: whole(url.most),
    offset: whole(url.offset),
    limit: LIMIT,
  } as Query<'listItems'>
}
