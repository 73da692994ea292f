import { Tooltip } from '@mantine/core'
import { useEffect, useState } from 'react'
import { usePreferences } from '#lib/preferences.ts'
import { formatClock, formatDay, formatRelative, formatShort, formatTime, formatUtc } from '#lib/time.ts'

interface TimeProps {
  readonly at: string
  /** `time`: 15 Nov, 14:32:07. `clock`: 14:32:07. `short`: the clock today, with the day otherwise. `day`: 15 Nov. `relative`: 12 s ago. */
  readonly as?: 'time' | 'clock' | 'short' | 'day' | 'relative'
}

const formats = {
  time: formatTime,
  clock: formatClock,
  short: formatShort,
  day: formatDay,
  relative: formatRelative,
}
const TICK_MS = 10_000

/** A time in the reader's zone, with UTC while the pointer is on it. */
export function Time({ at, as = 'time' }: TimeProps) {
  usePreferences()
  useTick(as === 'relative')
  const [isPointedAt, setPointedAt] = useState(false)
  const time = (
    <time dateTime={at} className="sw-num" onPointerEnter={() => setPointedAt(true)}>
      {formats[as](at)}
    </time>
  )
  // Made when it is wanted: tables have dozens of times, and the tooltip of each would take longer to draw than its row.
  return isPointedAt ? <Tooltip label={formatUtc(at)}>{time}</Tooltip> : time
}

function useTick(isOn: boolean): void {
  const [, tick] = useState(0)
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS)
    return () => clearInterval(timer)
  }, [isOn])
}
