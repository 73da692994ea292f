import { refuse } from '../platform/trouble.ts'

/** `2026-11`. Months begin and end at 00:00 UTC, whatever the reader's zone: a statement has to be the same for everybody. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7)
}

export function monthRange(month: string): { readonly from: Date; readonly to: Date } {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return { from: new Date(Date.UTC(year, number - 1)), to: new Date(Date.UTC(year, number)) }
}

/** A month from the account's first one to the present one. */
export function knownMonth(month: string | undefined, account_created_at: Date, nowMs: number): string {
  const present = monthOf(new Date(nowMs))
  if (month === undefined) return present
  const first = monthOf(account_created_at)
  if (month >= first && month <= present) return month
  throw refuse(
    'invalid_request',
    `There is no statement of ${month}: this account has statements from ${first} to ${present}, by UTC.`,
  )
}

/** The first instants of the last `days` days, and of tomorrow; all in UTC. */
export function dayStarts(days: number, nowMs: number): Date[] {
  const today = new Date(nowMs)
  return Array.from(
    { length: days + 1 },
    (_, n) =>
      new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - days + 1 + n)),
  )
}
