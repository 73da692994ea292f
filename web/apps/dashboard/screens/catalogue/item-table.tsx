import { useMemo } from 'react'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { catalogue } from '../../strings/catalogue.ts'
import type { Cart } from './cart.ts'
import classes from './catalogue.module.css'
import { AddButton, Ends, ForSale, type Item, Picture } from './item-parts.tsx'

const { columns: heads, types } = catalogue

interface ItemListProps {
  readonly items: readonly Item[] | undefined
  readonly cart: Cart
}

export function ItemTable({ items, cart }: ItemListProps) {
  const columns = useMemo(() => columnsFor(cart), [cart])
  return (
    <DataTable
      caption={catalogue.caption}
      what={catalogue.what}
      columns={columns}
      rows={items}
      rowId={({ id }) => id}
      isTall
      phone={(item) => ({
        top: [item.name, <Money key="price" cents={item.price_cents} />],
        bottom: [
          <span key="what">
            {types[item.type]}, {item.collection}
          </span>,
          <AddButton key="add" item={item} cart={cart} />,
        ],
      })}
      isRowQuiet={({ sellable }) => !sellable}
      empty={null}
    />
  )
}

const columnsFor = (cart: Cart): readonly Column<Item>[] => [
  {
    id: 'item',
    header: heads.item,
    cell: (item) => (
      <span className={classes.item}>
        <Picture item={item} size="row" />
        <span className={classes.names}>
          <span className={classes.name}>{item.name}</span>
          <span className={classes.id}>{item.id}</span>
        </span>
      </span>
    ),
  },
  { id: 'type', header: heads.type, width: '110px', cell: ({ type }) => types[type], hideBelow: 'lg' },
  {
    id: 'collection',
    header: heads.collection,
    width: '18%',
    cell: ({ collection }) => collection,
    hideBelow: 'md',
  },
  {
    id: 'state',
    header: heads.state,
    width: '130px',
    cell: (item) => <ForSale item={item} />,
    hideBelow: 'md',
  },
  {
    id: 'ends',
    header: heads.ends,
    width: '90px',
    align: 'right',
    cell: (item) => <Ends item={item} />,
    hideBelow: 'lg',
  },
  {
    id: 'price',
    header: heads.price,
    width: '100px',
    align: 'right',
    cell: ({ price_cents }) => (
      <span className="sw-strong">
        <Money cents={price_cents} />
      </span>
    ),
  },
  {
    id: 'add',
    header: heads.add,
    isHeaderHidden: true,
    width: '112px',
    align: 'right',
    cell: (item) => <AddButton item={item} cart={cart} />,
  },
]
