import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

export type UrlValues = Readonly<Record<string, string | undefined>>

/** Plain strings in both directions: an address stays as somebody would write it. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(values: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return search.size > 0 ? `?${search}` : ''
}

/**
 * The search part of the address as the state of a screen: filters, cursor, the open row. `set` merges; undefined removes. A change of
 * anything but the open row or the cursor goes back to the first page.
 */
export function useUrlState(): readonly [
  UrlValues,
  (change: UrlValues, options?: { replace?: boolean }) => void,
] {
  const values = useSearch({ strict: false }) as UrlValues
  const navigate = useNavigate()
  const set = useCallback(
    (change: UrlValues, { replace = false }: { replace?: boolean } = {}) => {
      const keepsPage = Object.keys(change).every(
        (key) => key === 'open' || key === 'before' || key === 'after',
      )
      const paging = keepsPage ? {} : { before: undefined, after: undefined, open: undefined }
      void navigate({
        to: '.',
        search: ((old: UrlValues) => ({ ...old, ...paging, ...change })) as never,
        replace,
        resetScroll: false,
      })
    },
    [navigate],
  )
  return [values, set]
}
