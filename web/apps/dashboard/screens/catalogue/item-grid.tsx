import { Money } from '#kit/components/values/money.tsx'
import { catalogue } from '../../strings/catalogue.ts'
import type { Cart } from './cart.ts'
import classes from './catalogue.module.css'
import { AddButton, type Item, Picture } from './item-parts.tsx'

interface ItemListProps {
  readonly items: readonly Item[] | undefined
  readonly cart: Cart
}

/** The same items with larger pictures. */
export function ItemGrid({ items, cart }: ItemListProps) {
  if (!items) return null
  return (
    <ul className={classes.grid} aria-label={catalogue.caption}>
      {items.map((item) => (
        <li key={item.id} className={classes.tile} data-quiet={item.sellable ? undefined : true}>
          <Picture item={item} size="tile" />
          <span className={classes.name} title={item.name}>
            {item.name}
          </span>
          <span className={classes.collection}>
            {catalogue.types[item.type]}, {item.collection}
          </span>
          <span className={classes.tileFoot}>
            <span className="sw-strong">
              <Money cents={item.price_cents} />
            </span>
            <AddButton item={item} cart={cart} />
          </span>
        </li>
      ))}
    </ul>
  )
}
