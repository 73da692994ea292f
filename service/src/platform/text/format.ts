/** An amount of US cents for people to read: `$1,234.56`. */
export function dollars(cents: number): string {
  const sign = cents < 0 ? '-' : ''
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${sign}$${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-2)}`
}

/** A time in UTC for people to read, to the second. */
export function day(at: Date): string {
  return at.toISOString().replace('T', ' ').slice(0, 19)
}
