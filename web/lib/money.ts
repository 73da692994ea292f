const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const wholeDollars = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 0,
})
const counts = new Intl.NumberFormat('en-US')
const MINUS = '−'
const CENTS_PER_DOLLAR = 100

/** `7184260` → `$71,842.60`. Formatted from digits: a fraction of a number this large would lose cents. */
export function formatMoney(cents: number): string {
  const size = Math.abs(cents)
  const fraction = String(size % CENTS_PER_DOLLAR).padStart(2, '0')
  const amount = `${Math.floor(size / CENTS_PER_DOLLAR)}.${fraction}` as `${number}`
  return signed(dollars.format(amount), cents)
}

/** `+$9.99`, `−$57.96`: an entry in a statement. */
export const formatChange = (cents: number): string => `${cents > 0 ? '+' : ''}${formatMoney(cents)}`

/** The two parts, for headlines that show the cents in a lighter colour: `['$71,842', '.60']`. */
export function splitMoney(cents: number): readonly [dollars: string, cents: string] {
  const text = formatMoney(cents)
  const point = text.lastIndexOf('.')
  return [text.slice(0, point), text.slice(point)]
}

/** `$6,485`: for rates and axes, where cents would claim a precision that is not there. */
export const formatDollars = (cents: number): string =>
  signed(wholeDollars.format(Math.round(Math.abs(cents) / CENTS_PER_DOLLAR)), cents)

export const formatCount = (value: number): string => signed(counts.format(Math.abs(value)), value)

const signed = (text: string, value: number): string => (value < 0 ? `${MINUS}${text}` : text)

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
