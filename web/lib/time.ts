import { preferences } from './preferences.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Parts = Intl.DateTimeFormatOptions

const clock: Parts = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }
const day: Parts = { day: 'numeric', month: 'short' }
const wall: Parts = { day: '2-digit', month: '2-digit', year: 'numeric', ...clock }
const formatters = new Map<string, Intl.DateTimeFormat>()

/** en-GB: day before month and 24 hours, so that a time sorts and reads the same for everybody. */
function format(at: Date, parts: Parts, timeZone = zone()): string {
  const key = `${timeZone}|${JSON.stringify(parts)}`
  const found = formatters.get(key) ?? new Intl.DateTimeFormat('en-GB', { ...parts, timeZone })
  formatters.set(key, found)
  return found.format(at)
}

let reader = { zone: 'UTC', untilMs: 0 }

/** Asking takes a hundred times as long as formatting a time, and a table has dozens. It changes when somebody travels. */
export function readerZone(): string {
  const nowMs = Date.now()
  if (nowMs >= reader.untilMs) {
    reader = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone, untilMs: nowMs + MINUTE }
  }
  return reader.zone
}

/** The zone that times are shown in: the reader's, or UTC if they prefer it. */
export const zone = (): string => (preferences.get().zone === 'utc' ? 'UTC' : readerZone())

/** `14:32:07` */
export const formatClock = (iso: string): string => format(new Date(iso), clock)

/** `14:32` */
export const minuteOf = (iso: string): string => formatClock(iso).slice(0, 5)

/** `15 Nov, 14:32:07`; with the year when it is another one. */
export function formatTime(iso: string, now = new Date()): string {
  const at = new Date(iso)
  return `${formatDay(iso, now)}, ${format(at, clock)}`
}

/** `15 Nov`, or `15 Nov 2025` when the year is another one. */
export function formatDay(iso: string, now = new Date()): string {
  const at = new Date(iso)
  const isThisYear = format(at, { year: 'numeric' }) === format(now, { year: 'numeric' })
  return format(at, isThisYear ? day : { ...day, year: 'numeric' })
}

/** `Sunday 15 November` */
export const formatLongDay = (iso: string): string =>
  format(new Date(iso), { weekday: 'long', day: 'numeric', month: 'long' }).replace(',', '')

/** `14:32:07` today, `15 Nov, 14:32:07` otherwise. */
export const formatShort = (iso: string, now = new Date()): string =>
  dayKey(iso) === dayKey(now.toISOString()) ? formatClock(iso) : formatTime(iso, now)

/** `2026-11-15`, in the zone shown: for grouping rows by day. */
export const dayKey = (iso: string): string => {
  const at = new Date(iso)
  const [d, m, y] = format(at, { day: '2-digit', month: '2-digit', year: 'numeric' }).split('/')
  return `${y}-${m}-${d}`
}

const months = Array.from({ length: 12 }, (_, n) =>
  format(new Date(Date.UTC(2026, n, 15)), { month: 'long' }, 'UTC').toLowerCase(),
)

/** `2026-11-15`, `15 Nov` or `15 November 2026` as `2026-11-15`; undefined for anything else. */
export function parseDay(text: string, now = new Date()): string | undefined {
  const clean = text.trim().toLowerCase()
  const [, d = '', word = '', year = format(now, { year: 'numeric' })] =
    /^(\d{1,2}) ([a-z]{3,9})(?: (\d{4}))?$/.exec(clean) ?? []
  const month = word === '' ? 0 : months.findIndex((name) => name.startsWith(word)) + 1
  const day = month === 0 ? clean : `${year}-${String(month).padStart(2, '0')}-${d.padStart(2, '0')}`
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day) ? day : undefined
}

/** `2026-11-15`, of a day that there is. */
export const isDay = (text: string | undefined): text is string =>
  text !== undefined && parseDay(text) === text

/** A day of the calendar: `15 Nov 2026`. */
export const dayInWords = (day: string): string =>
  format(new Date(`${day}T00:00:00Z`), { day: 'numeric', month: 'short', year: 'numeric' }, 'UTC')

/** When a day of the calendar begins in the zone shown. A day on which the clock changes has 23 or 25 hours. */
export function dayStart(day: string, plusDays = 0, timeZone = zone()): string {
  const wallMs = Date.parse(`${day}T00:00:00Z`) + plusDays * DAY
  // Twice: between the first guess and midnight the clock may have changed.
  const guessMs = wallMs - offsetMs(wallMs, timeZone)
  return new Date(wallMs - offsetMs(guessMs, timeZone)).toISOString()
}

/** How far the clock on the wall is ahead of UTC at this moment. */
function offsetMs(ms: number, timeZone: string): number {
  const [date = '', time = ''] = format(new Date(ms), wall, timeZone).split(', ')
  const [d, m, y] = date.split('/')
  return Date.parse(`${y}-${m}-${d}T${time}Z`) - Math.floor(ms / SECOND) * SECOND
}

/** `CET`, `UTC`, `GMT+5:30`: said once per page beside an absolute time. */
export const zoneName = (now = new Date()): string =>
  format(now, { timeZoneName: 'short', hour: '2-digit' }).split(' ').at(-1) ?? 'UTC'

/** `2026-11-15 13:32:07.000 UTC`, for the tooltip of every time. */
export const formatUtc = (iso: string): string =>
  new Date(iso).toISOString().replace('T', ' ').replace('Z', ' UTC')

/** `12 s ago`, `3 m ago`, `26 h ago`, `4 Mar`. `in 4 m` for what is to come. */
export function formatRelative(iso: string, now = Date.now()): string {
  const distance = now - new Date(iso).getTime()
  const size = Math.abs(distance)
  if (size < SECOND) return 'now'
  if (distance > 0 && size >= 2 * DAY) return formatDay(iso, new Date(now))
  const text = shortSpan(size)
  return distance > 0 ? `${text} ago` : `in ${text}`
}

function shortSpan(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`
  if (ms < 3 * DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} days`
}

/** `212 ms`, `10.0 s`, `41 s`, `1 m 52 s`, `2 h 05 m`: how long something took. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10.05 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  const seconds = Math.round(ms / SECOND)
  if (seconds < 60) return `${seconds} s`
  const two = (value: number) => String(value).padStart(2, '0')
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 48 * 60
    ? `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`
    : `${Math.floor(minutes / 1_440)} days`
}
