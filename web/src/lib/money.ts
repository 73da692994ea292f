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
