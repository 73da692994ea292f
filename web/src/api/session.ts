import type { Role } from '@shopwire/contract/dashboard'
import { type QueryFilters, queryOptions, useQuery } from '@tanstack/react-query'
import { api, type Reply } from './client.ts'
import { queryClient } from './query-client.ts'
import { betweenActs, setCsrfToken } from './transport.ts'

export type Session = Reply<'getSession'>

export const sessionQuery = queryOptions({
  queryKey: ['getSession', {}],
  queryFn: async ({ signal }): Promise<Session> => {
    const session = await betweenActs(() => api.read('getSession', undefined, signal))
    setCsrfToken(session.csrf_token)
    return session
  },
  staleTime: 30_000,
})

/** Reads the session again: after signing in, stepping up, switching accounts, and when a CSRF token was refused. */
export const renewSession = (): Promise<Session> => queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 })

/** What was read as a member of an account: everything but the session. */
export const readsOfAccount: QueryFilters = {
  predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0],
}

export function useSession(): Session | undefined {
  return useQuery(sessionQuery).data
}

export const useRole = (): Role | undefined => useSession()?.account?.role as Role | undefined

/** Whether the reader may do what these roles may. Hides or disables; the service decides. */
export function useMay(allowed: readonly Role[]): boolean {
  const role = useRole()
  return role !== undefined && allowed.includes(role)
}

/** The `access` values of the contract, which a browser has only as types. */
export const may = {
  everyone: ['owner', 'developer', 'finance', 'viewer'],
  build: ['owner', 'developer'],
  pay: ['owner', 'finance'],
  own: ['owner'],
} as const satisfies Readonly<Record<string, readonly Role[]>>
