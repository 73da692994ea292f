import { formatClock } from '../../lib/time.ts'

/** When the present day began in a zone: the hours on the clock are taken from now. */
export function dayStart(timeZone: string, nowMs = Date.now()): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(nowMs)
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0)
  const minuteMs = Math.floor(nowMs / 60_000) * 60_000
  return new Date(minuteMs - (read('hour') * 60 + read('minute')) * 60_000).toISOString()
}

/** `14:32`, in the zone that times are shown in. */
export const minuteOf = (iso: string): string => formatClock(iso).slice(0, 5)
