import { monthOf } from '../../platform/text/months.ts'
import { refuse } from '../../platform/trouble.ts'

/** A month between the account's first and the present one. */
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
