const name = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const short = new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const longDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' })

/** `2026-11` → `November 2026`. Statements are by UTC, whatever zone times are shown in. */
export const monthName = (month: string): string => name.format(new Date(`${month}-01T00:00:00Z`))

/** `November` */
export const shortMonth = (month: string): string => short.format(new Date(`${month}-01T00:00:00Z`))

/** `1 Nov`, of a UTC day or instant. */
export const utcDay = (at: string): string => day.format(new Date(at))

/** `26 November` */
export const longUtcDay = (at: string): string => longDay.format(new Date(at))

/** The last day that belongs to a period that ends at this instant. */
export const lastDayBefore = (end: string): string => day.format(new Date(new Date(end).getTime() - 1))

/** `2026-11`, by the clock of the browser. */
export const presentMonth = (): string => new Date().toISOString().slice(0, 7)

/** What an address may name; whether the account has such a month is for the service to say. */
export const isMonth = (text: string | undefined): text is string =>
  /^\d{4}-(0[1-9]|1[0-2])$/.test(text ?? '')

/** From the newest to the oldest. */
export function monthsBetween(first: string, last: string): string[] {
  const months: string[] = []
  let [year = 0, month = 1] = last.split('-').map(Number)
  for (;;) {
    const key = `${year}-${String(month).padStart(2, '0')}`
    if (key < first) return months
    months.push(key)
    month -= 1
    if (month === 0) {
      month = 12
      year -= 1
    }
  }
}
