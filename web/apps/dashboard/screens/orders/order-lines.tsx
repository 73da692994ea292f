import { Section } from '#kit/components/feedback/page.tsx'
import { ItemArt } from '#kit/components/values/item-art.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { formatMoney } from '#lib/money.ts'
import { orders } from '../../strings/orders.ts'
import classes from './order.module.css'
import type { OrderDetail } from './order-types.ts'

const { order: said } = orders

/** What was bought, at the price it had. The total is a visible sum. */
export function OrderLines({ order }: { readonly order: OrderDetail }) {
  return (
    <Section title={said.lines}>
      <table className={classes.lines}>
        <caption className="sw-hidden">{said.linesCaption}</caption>
        <tbody>
          {order.lines.map(({ item_id, name, collection, type, qty, unit_price_cents }) => (
            <tr key={item_id}>
              <th scope="row">
                <span className={classes.item}>
                  <span className={classes.itemArt}>
                    <ItemArt id={item_id} collection={collection ?? ''} type={type} />
                  </span>
                  <span>
                    <span className={classes.itemName}>{name}</span>
                    {collection === null ? null : <span className="sw-meta">{collection}</span>}
                  </span>
                </span>
              </th>
              <td className="sw-dim">{said.units(qty, formatMoney(unit_price_cents))}</td>
              <td className="sw-strong">
                <Money cents={qty * unit_price_cents} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{said.total}</th>
            <td />
            <td>
              <Money cents={order.total_cents} />
            </td>
          </tr>
        </tfoot>
      </table>
    </Section>
  )
}
