import type { ItemType } from '@shopwire/contract'
import type { ReactNode } from 'react'
import classes from './item-art.module.css'

interface ItemArtProps {
  readonly id: string
  readonly collection: string
  /** Null: the item is no longer known. */
  readonly type: ItemType | null
}

/**
 * A picture for an item without one: always the same for the same item. The collection chooses the colours, the type the shape, and the
 * id how it is turned, so that items of a collection belong together and can be told apart.
 */
export function ItemArt({ id, collection, type }: ItemArtProps) {
  const hue = numberOf(collection) % 360
  const variant = numberOf(id)
  const paint = { '--hue': hue, '--second': (hue + 40 + (variant % 5) * 22) % 360 } as React.CSSProperties
  return (
    <svg
      viewBox="0 0 96 72"
      className={classes.art}
      style={paint}
      aria-hidden
      preserveAspectRatio="xMidYMid slice"
    >
      <rect width="96" height="72" className={classes.ground} />
      <g transform={`rotate(${((variant % 7) - 3) * 6} 48 36)`}>{SHAPES[type ?? 'bundle'](variant)}</g>
    </svg>
  )
}

const SHAPES: Readonly<Record<ItemType, (variant: number) => ReactNode>> = {
  decoration: (variant) => (
    <>
      <circle cx="48" cy="36" r="20" className={classes.ring} />
      <circle cx="48" cy="36" r="13" className={classes.second} />
      {around(5 + (variant % 4), 26).map(([x, y]) => (
        <circle key={`${x} ${y}`} cx={x} cy={y} r="3" className={classes.main} />
      ))}
    </>
  ),
  effect: (variant) => (
    <>
      {around(6 + (variant % 5), 24).map(([x, y]) => (
        <line key={`${x} ${y}`} x1="48" y1="36" x2={x} y2={y} className={classes.ray} />
      ))}
      <circle cx="48" cy="36" r="8" className={classes.second} />
    </>
  ),
  nameplate: (variant) => (
    <>
      <rect x="16" y="24" width="64" height="24" rx="6" className={classes.main} />
      <circle cx="30" cy="36" r="7" className={classes.second} />
      <rect x="42" y="31" width={18 + (variant % 4) * 4} height="4" rx="2" className={classes.ground} />
      <rect x="42" y="39" width={12 + (variant % 3) * 5} height="3" rx="1.5" className={classes.ground} />
    </>
  ),
  frame: (variant) => (
    <>
      <rect x="26" y="14" width="44" height="44" rx="4" className={classes.ring} />
      <rect x="34" y="22" width="28" height="28" rx={2 + (variant % 4) * 4} className={classes.second} />
    </>
  ),
  bundle: (variant) => (
    <>
      <rect x="22" y="26" width="28" height="28" rx="5" className={classes.second} />
      <rect x="38" y="16" width="28" height="28" rx={4 + (variant % 3) * 5} className={classes.main} />
      <circle cx="66" cy="50" r={7 + (variant % 3)} className={classes.ring} />
    </>
  ),
}

/** Points on a circle around the middle. */
const around = (count: number, radius: number): [number, number][] =>
  Array.from({ length: count }, (_, n) => {
    const angle = (2 * Math.PI * n) / count
    return [round(48 + radius * Math.cos(angle)), round(36 + radius * Math.sin(angle))]
  })

const round = (value: number) => Math.round(value * 10) / 10

/** FNV-1a. */
function numberOf(text: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n += 1) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return hash >>> 0
}
