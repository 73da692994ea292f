import { QueryClient } from '@tanstack/react-query'
import { RequestError } from './request-error.ts'

/** A refusal is an answer: only what had none, or failed on our side, is worth asking again. */
const mayRetry = (failures: number, error: unknown): boolean =>
  failures < 2 && error instanceof RequestError && (error.status === 0 || error.status >= 500)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 5_000, gcTime: 300_000, retry: mayRetry, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
})
