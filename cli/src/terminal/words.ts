/** $1,234.50; a minus stands before the sign. */
export function money(cents: number): string {
  const [whole = '0', part = '00'] = (Math.abs(cents) / 100).toFixed(2).split('.')
  return `${cents < 0 ? '−' : ''}$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${part}`
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`
}

/** 2026-11-15 12:04:11 UTC, without milliseconds. */
export function moment(iso: string | null): string {
  return iso === null ? '–' : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `90s`, `1h`, `2d` as milliseconds. */
export function durationMs(text: string): number | undefined {
  const [, number, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * UNITS[unit as keyof typeof UNITS]
}

export function span(ms: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, size]) => ms >= size) ?? ['ms', 1]
  return `${Math.floor(ms / size)} ${unit}`
}
