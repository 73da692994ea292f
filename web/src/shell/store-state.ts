import { useQuery } from '@tanstack/react-query'
import { send } from '../api/transport.ts'

/** What the rail and the banner say about the store. */
export interface StoreState {
  readonly is_open: boolean
  readonly version?: string
  readonly docs_url?: string | null
  readonly closed_since?: string | null
}

const EVERY_MS = 60_000

export const useStoreState = (isSignedIn: boolean): StoreState | undefined =>
  useQuery({
    queryKey: ['getStore', {}],
    queryFn: async ({ signal }) => (await send({ method: 'GET', path: '/api/store', signal })) as StoreState,
    enabled: isSignedIn,
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
  }).data
