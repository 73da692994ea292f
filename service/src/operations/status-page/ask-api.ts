import type { ServiceStatus } from '@shopwire/contract'

export type ApiAnswer = 'up' | 'degraded' | 'unavailable' | 'unknown'

const ANSWER_MS_MAX = 3_000

/**
 * Asks the API at its public address, as a caller does: only its processes know whether they serve. Where it has never answered,
 * perhaps because this machine cannot connect to its own public address, nothing is known.
 */
export function createApiProbe(
  url: string | undefined,
  fetch: typeof globalThis.fetch,
): () => Promise<ApiAnswer> {
  let hasAnswered = false
  return async () => {
    if (url === undefined) return 'unknown'
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
      const { status, api } = (await answer.json()) as Partial<ServiceStatus>
      hasAnswered ||= answer.status === 200
      if (answer.status !== 200 || api !== 'up') return hasAnswered ? 'unavailable' : 'unknown'
      return status === 'operational' ? 'up' : 'degraded'
    } catch {
      return hasAnswered ? 'unavailable' : 'unknown'
    }
  }
}
