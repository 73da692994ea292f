import { Button } from '@mantine/core'
import { IconCheck, IconPhoto, IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import type { Reply } from '../../api/client.ts'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { catalogue } from '../../strings/catalogue.ts'
import { words } from '../../strings/common.ts'
import type { Cart } from './cart.ts'
import classes from './catalogue.module.css'

export type Item = Reply<'listItems'>['items'][number]

/** The picture of an item, or a quiet square: a picture may be gone, and frames have none. */
export function Picture({ item, size }: { readonly item: Item; readonly size: 'row' | 'tile' }) {
  const [isBroken, setBroken] = useState(false)
  const isShown = item.image?.startsWith('https:') === true && !isBroken
  return (
    <span className={classes.picture} data-size={size} aria-hidden>
      {isShown ? (
        <img
          src={item.image ?? undefined}
          alt=""
          loading="lazy"
          decoding="async"
          referrerPolicy="no-referrer"
          onError={() => setBroken(true)}
        />
      ) : (
        <IconPhoto size={size === 'row' ? 14 : 22} stroke={1.25} />
      )}
    </span>
  )
}

export function Ends({ item }: { readonly item: Item }) {
  if (item.available_until === null) return <span className="sw-quiet">{words.none}</span>
  if (Date.parse(item.available_until) <= Date.now())
    return <span className="sw-quiet">{catalogue.ended}</span>
  return <Time at={item.available_until} as="relative" />
}

export const ForSale = ({ item }: { readonly item: Item }) =>
  item.sellable ? (
    <Status kind="active" word={catalogue.forSale} />
  ) : (
    <Status kind="cancelled" word={catalogue.notForSale} />
  )

export function AddButton({ item, cart }: { readonly item: Item; readonly cart: Cart }) {
  const isIn = cart.has(item.id)
  return (
    <Button
      size="compact-sm"
      variant={isIn ? 'light' : 'default'}
      leftSection={isIn ? <IconCheck size={13} aria-hidden /> : <IconPlus size={13} aria-hidden />}
      aria-label={isIn ? catalogue.removeThis(item.name) : catalogue.addThis(item.name)}
      aria-pressed={isIn}
      disabled={!isIn && (cart.isFull || !item.sellable)}
      title={!isIn && cart.isFull ? catalogue.full : undefined}
      onClick={() => cart.setQty(item.id, isIn ? 0 : 1)}
    >
      {isIn ? catalogue.inCart : catalogue.add}
    </Button>
  )
}
