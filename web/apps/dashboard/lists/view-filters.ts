import type { UrlValues } from '#lib/url-state.ts'
import type { Reply } from '../api/client.ts'

export type View = Reply<'listViews'>['views'][number]

/** The filters of a list in the address, in one form: two addresses that filter alike are the same. */
export function queryOf(url: UrlValues, names: readonly string[]): string {
  const query = new URLSearchParams()
  for (const name of names) {
    const value = url[name]
    if (value) query.set(name, value)
  }
  return String(query)
}

/** What applying a view changes in the address: every filter of the list, and nothing else. */
export function filtersIn(query: string, names: readonly string[]): UrlValues {
  const values = new URLSearchParams(query)
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? undefined]))
}
