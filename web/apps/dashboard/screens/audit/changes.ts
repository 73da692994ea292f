import { words } from '#kit/words.ts'
import { formatMoney } from '#lib/money.ts'
import { formatTime } from '#lib/time.ts'
import { audit } from '../../strings/audit.ts'

export interface Change {
  readonly field: string
  readonly before: string
  readonly after: string
  readonly isChanged: boolean
}

/** Names of people by their ids. */
export type Names = ReadonlyMap<string, string>

type Values = Readonly<Record<string, unknown>> | null

/** Every field of both sides, changed ones first. Amounts, times and people are shown as everywhere else. */
export function changesOf(before: Values, after: Values, names: Names = new Map()): readonly Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...fields]
    .map((field) => {
      const was = shown(field, before?.[field], names)
      const is = shown(field, after?.[field], names)
      return {
        field: field.replace(/_cents$|_at$/, '').replaceAll('_', ' '),
        before: was,
        after: is,
        isChanged: was !== is,
      }
    })
    .sort((a, b) => Number(b.isChanged) - Number(a.isChanged))
}

function shown(field: string, value: unknown, names: Names): string {
  if (value === undefined || value === null || value === '') return words.none
  if (Array.isArray(value)) return value.map((one) => shown(field, one, names)).join(', ') || words.none
  if (typeof value === 'boolean') return value ? audit.yes : audit.no
  if (typeof value === 'number' && field.endsWith('_cents')) return formatMoney(value)
  if (typeof value === 'string' && field.endsWith('_at') && !Number.isNaN(Date.parse(value)))
    return formatTime(value)
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${name.replaceAll('_', ' ')}: ${shown(name, one, names)}`)
      .join(', ')
  return names.get(String(value)) ?? String(value)
}
