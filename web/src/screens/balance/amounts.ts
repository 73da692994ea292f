/** Dollars as people write them (`5,000`, `$25.00`, `12.5`) in cents; undefined for anything else. */
export function parseDollars(text: string): number | undefined {
  const [, whole = '', rest = ''] =
    /^\$?\s*(\d{1,3}(?:,\d{3})+|\d{1,10})(?:\.(\d{1,2}))?$/.exec(text.trim()) ?? []
  if (whole === '') return undefined
  return Number(whole.replaceAll(',', '')) * 100 + Number(rest.padEnd(2, '0') || 0)
}

/** `5000.00`, for a field that is edited. */
export function editable(cents: number): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ',')}.${digits.slice(-2)}`
}
