import { Section } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { DataTable } from '#kit/components/lists/data-table.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import { orders } from '../../strings/orders.ts'
import { isQuiet, latestColumns, type OrderRow, phoneRow } from '../orders/order-columns.tsx'

const { latest: said } = home

export function LatestOrders({ rows }: { readonly rows: readonly OrderRow[] }) {
  return (
    <Section title={said.title} aside={<AppLink to={paths.orders}>{said.all}</AppLink>}>
      <DataTable
        caption={said.caption}
        what={orders.what}
        columns={latestColumns}
        rows={rows}
        rowId={({ id }) => id}
        rowLink={({ id }) => paths.order(id)}
        phone={phoneRow}
        isRowQuiet={isQuiet}
        isFlush
        empty={<EmptyState title={said.none}>{said.noneBody}</EmptyState>}
      />
    </Section>
  )
}
