import {
  IconAlertTriangle,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconCircleDotFilled,
  IconCircleHalf2,
  IconCircleMinus,
  IconCircleXFilled,
  IconClock,
  IconRefresh,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './status.module.css'

export type Tone = 'ok' | 'warn' | 'bad' | 'plain' | 'quiet'

/** Icon, word and colour, always all three. */
const kinds = {
  paid: ['Paid', IconCircleHalf2, 'plain'],
  delivered: ['Delivered', IconCircleCheckFilled, 'ok'],
  cancelled: ['Cancelled', IconCircleMinus, 'quiet'],
  accepted: ['Accepted', IconCircleCheckFilled, 'ok'],
  retrying: ['Retrying', IconRefresh, 'warn'],
  failed: ['Failed', IconCircleXFilled, 'bad'],
  queued: ['Queued', IconCircleDashed, 'quiet'],
  active: ['Active', IconCircleCheckFilled, 'ok'],
  revoked: ['Revoked', IconCircleMinus, 'quiet'],
  rotating: ['Rotating out', IconClock, 'warn'],
  unused: ['Never used', IconCircleDashed, 'quiet'],
  live: ['Live', IconCircleDotFilled, 'ok'],
  invited: ['Invited', IconCircleDashed, 'quiet'],
  expired: ['Expired', IconClock, 'warn'],
  closed: ['Closed', IconAlertTriangle, 'warn'],
  open: ['Open', IconCircleCheckFilled, 'ok'],
  waiting: ['Waiting', IconClock, 'plain'],
} as const satisfies Readonly<Record<string, readonly [string, typeof IconClock, Tone]>>

export type StatusKind = keyof typeof kinds

interface StatusProps {
  readonly kind: StatusKind
  /** Another word than the usual one. */
  readonly word?: string
  /** With a soft background, 22 px high: in the header of a page or panel and on a timeline, never in a table. */
  readonly isChip?: boolean
}

export function Status({ kind, word, isChip = false }: StatusProps) {
  const [usual, Icon, tone] = kinds[kind]
  return (
    <span className={classes.status} data-tone={tone} data-chip={isChip || undefined}>
      <Icon size={isChip ? 14 : 16} stroke={1.75} aria-hidden />
      <span className={classes.word}>{word ?? usual}</span>
    </span>
  )
}

/** The same form for what is not a status: an HTTP code, a count. */
export function Chip({
  tone = 'plain',
  icon,
  children,
}: {
  readonly tone?: Tone
  readonly icon?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <span className={classes.status} data-tone={tone} data-chip>
      {icon}
      <span className={classes.word}>{children}</span>
    </span>
  )
}

/** 2xx plain, everything else in red; no answer is the word "timeout". */
export function HttpCode({ code }: { readonly code: number | null }) {
  const isGood = code !== null && code >= 200 && code < 300
  return (
    <span className={classes.code} data-tone={isGood ? 'plain' : 'bad'}>
      {code ?? 'timeout'}
    </span>
  )
}
