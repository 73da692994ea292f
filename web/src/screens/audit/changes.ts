import { words } from '../../strings/common.ts'

export interface Change {
  readonly field: string
  readonly before: string
  readonly after: string
  readonly isChanged: boolean
}

type Values = Readonly<Record<string, unknown>> | null

/** Every field of both sides, changed ones first. */
export function changesOf(before: Values, after: Values): readonly Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...fields]
    .map((field) => {
      const was = shown(before?.[field])
      const is = shown(after?.[field])
      return { field: field.replaceAll('_', ' '), before: was, after: is, isChanged: was !== is }
    })
    .sort((a, b) => Number(b.isChanged) - Number(a.isChanged))
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return words.none
  if (Array.isArray(value)) return value.map(shown).join(', ') || words.none
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
