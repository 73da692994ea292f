import { Button } from '@mantine/core'
import { IconCheck, IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { ItemArt } from '#kit/components/values/item-art.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import type { Reply } from '../../api/client.ts'
import { catalogue } from '../../strings/catalogue.ts'
import type { Cart } from './cart.ts'
import classes from './catalogue.module.css'

export type Item = Reply<'listItems'>['items'][number]

/** The picture of an item, over one that is drawn for it: a picture may come late, be gone, or not exist. */
export function Picture({ item, size }: { readonly item: Item; readonly size: 'row' | 'tile' }) {
  const [state, setState] = useState<'coming' | 'there' | 'broken'>('coming')
  const isWanted = item.image?.startsWith('https:') === true && state !== 'broken'
  return (
    <span className={classes.picture} data-size={size} aria-hidden>
      {isWanted ? (
        <img
          src={item.image ?? undefined}
          alt=""
          loading="lazy"
          decoding="async"
          referrerPolicy="no-referrer"
          onLoad={() => setState('there')}
          onError={() => setState('broken')}
        />
      ) : null}
      {isWanted && state === 'there' ? null : <ItemArt {...item} />}
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
