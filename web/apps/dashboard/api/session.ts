import type { Role } from '@shopwire/contract/dashboard'
import { type QueryFilters, queryOptions, useQuery } from '@tanstack/react-query'
import { queryClient } from '#client/query-client.ts'
import { offerNoUndo } from '#kit/components/feedback/toasts.tsx'
import { RequestError } from '#lib/request-error.ts'
import { rememberAccount } from '../session/last-account.ts'
import { shell } from '../strings/shell.ts'
import { api, type Reply, transport } from './client.ts'
import { setShownAccount, shownAccount } from './shown-account.ts'

export type Session = Reply<'getSession'>

export const sessionQuery = queryOptions({
  queryKey: ['getSession', {}],
  queryFn: async ({ signal }): Promise<Session> => {
    const session = await transport.betweenActs(() => api.read('getSession', undefined, signal))
    transport.setCsrfToken(session.csrf_token)
    show(session)
    return session
  },
  staleTime: 30_000,
})

/** Reads the session again: after signing in, stepping up, switching accounts, and when a CSRF token was refused. */
export const renewSession = (): Promise<Session> => queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 })

/** The same for a page that goes on without the answer: its next request says what is wrong. */
export const refreshSession = (): Promise<unknown> => renewSession().catch(() => undefined)

/**
 * The page shows one account until it leaves it. A session that is in another one was switched in another window: this one keeps what
 * it shows, and says so (`OtherAccountDialog`), because what somebody is about to press was meant for that account.
 */
function show({ account, accounts }: Session): void {
  rememberAccount(account?.name ?? null)
  const before = shownAccount()
  if (before === (account?.id ?? null)) return
  if (account === null) leaveAccount()
  else if (before === null) setShownAccount(account.id)
  else {
    const left = accounts.find(({ id }) => id === before)?.name
    throw new RequestError({
      type: 'account_mismatch',
      status: 409,
      message: shell.otherAccount.body(left, account.name),
    })
  }
}

/** Before the page goes on in another account, or in none. The session that is read next says in which. */
export function leaveAccount(): void {
  setShownAccount(null)
  offerNoUndo()
  queryClient.removeQueries(readsOfAccount)
}

/** What was read as a member of an account: everything but the session and an opened invitation. */
const readsOfAccount: QueryFilters = {
  predicate: ({ queryKey }) => queryKey[0] !== 'getSession' && queryKey[0] !== 'openInvitation',
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
