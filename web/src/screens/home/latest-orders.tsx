import { AppLink } from '../../components/app-link.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
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
