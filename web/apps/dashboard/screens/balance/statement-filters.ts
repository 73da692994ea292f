import { isDay } from '#lib/time.ts'
import type { UrlValues } from '#lib/url-state.ts'
import type { Query } from '../../api/client.ts'

const KINDS = ['order', 'refund', 'funding', 'adjustment'] as const
type Kind = (typeof KINDS)[number]

/** The address as the query of the statement and of its export. What does not fit is left out, never sent. */
export function statementQuery(url: UrlValues, month: string | undefined): Query<'exportStatement'> {
  const kind = KINDS.find((known) => known === url.kind)
  const [min, max] = [whole(url.min), whole(url.max)]
  const [from, to] = [startOf(url.from), endOf(url.to)]
  return {
    ...(kind && { kind: kind as Kind }),
    ...(month === undefined ? {} : { month }),
    ...(min === undefined ? {} : { min_cents: min }),
    ...(max === undefined ? {} : { max_cents: max }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

/** Names in the address; the month is no filter of its own, but a saved view has it. */
export const STATEMENT_VIEW = ['kind', 'month', 'min', 'max', 'from', 'to'] as const

export const isFiltered = (url: UrlValues): boolean =>
  STATEMENT_VIEW.some((name) => name !== 'month' && url[name] !== undefined)

const whole = (text: string | undefined) => (/^\d{1,12}$/.test(text ?? '') ? Number(text) : undefined)

/** Days are UTC, like months. */
function startOf(day: string | undefined): string | undefined {
  return isDay(day) ? `${day}T00:00:00.000Z` : undefined
}

/** The day itself belongs to it. */
function endOf(day: string | undefined): string | undefined {
  const start = startOf(day)
  return start === undefined ? undefined : new Date(new Date(start).getTime() + 86_400_000).toISOString()
}
