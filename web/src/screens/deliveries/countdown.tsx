import { useEffect, useState } from 'react'
import { formatRelative, formatUtc } from '../../lib/time.ts'
import { deliveries } from '../../strings/deliveries.ts'

const TICK_MS = 1_000

/** The present, every second while something is waited for. */
export function useNow(isOn = true): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isOn])
  return now
}

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
