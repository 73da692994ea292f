import { QueryClient } from '@tanstack/react-query'
import { RequestError } from '#lib/request-error.ts'

/** A refusal is an answer: only what had none, or failed on our side, is worth asking again. */
const mayRetry = (failures: number, error: unknown): boolean =>
  failures < 2 &&
  error instanceof RequestError &&
  error.type !== 'offline' &&
  (error.status === 0 || error.status >= 500)

/**
 * `always`: without a network a read says so at once, and what was pressed fails instead of waiting until there is one. Reads are repeated
 * when the network is back; what was pressed never is.
 */
const networkMode = 'always'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode,
      staleTime: 5_000,
      gcTime: 300_000,
      retry: mayRetry,
      refetchOnWindowFocus: true,
      refetchOnReconnect: true,
    },
    mutations: { networkMode, retry: false },
  },
})
