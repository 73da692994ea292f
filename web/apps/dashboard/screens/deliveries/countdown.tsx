import { formatRelative, formatUtc } from '#lib/time.ts'
import { useNow } from '#lib/use-now.ts'
import { deliveries } from '../../strings/deliveries.ts'

interface CountdownProps {
  readonly at: string
  /** `in 4 minutes`, for a sentence. */
  readonly isSpelled?: boolean
}

/** `in 28 s`, counted down; `now` once it is due. */
export function Countdown({ at, isSpelled = false }: CountdownProps) {
  const now = useNow()
  const text = isSpelled ? deliveries.inTime(Date.parse(at) - now) : formatRelative(at, now)
  return (
    <time dateTime={at} title={formatUtc(at)} className="sw-num">
      {Date.parse(at) <= now ? deliveries.now : text}
    </time>
  )
}
