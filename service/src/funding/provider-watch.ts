import { Refusal } from '../platform/trouble.ts'
import type { FundingMetrics } from './metrics.ts'
import type { PaymentProvider } from './provider.ts'

/** Another worker may succeed where this one failed: after this time without a request the state is unknown. */
const KNOWN_MS_MAX = 5 * 60_000

export interface WatchedProvider extends PaymentProvider {
  /** Why card money waits; undefined while the provider answers, or when no request was made for a while. */
  problem(): string | undefined
}

/** Wraps the provider to count its answers and its failures. */
export function watchProvider(
  provider: PaymentProvider,
  { paymentProviderCalls: calls }: Pick<FundingMetrics, 'paymentProviderCalls'>,
  monotonicMs: () => number = () => performance.now(),
): WatchedProvider {
  let failedMs: number | undefined
  const watched =
    <Question extends unknown[], Reply>(ask: (...question: Question) => Promise<Reply>) =>
    async (...question: Question): Promise<Reply> => {
      try {
        const reply = await ask(...question)
        answered()
        return reply
      } catch (error) {
        if (error instanceof Refusal) answered()
        else {
          calls.inc({ outcome: 'failed' })
          failedMs = monotonicMs()
        }
        throw error
      }
    }
  const answered = () => {
    calls.inc({ outcome: 'answered' })
    failedMs = undefined
  }
  return {
    name: provider.name,
    open: watched(provider.open),
    readSession: watched(provider.readSession),
    readPayment: watched(provider.readPayment),
    endSession: watched(provider.endSession),
    list: watched(provider.list),
    problem: () =>
      failedMs !== undefined && monotonicMs() - failedMs < KNOWN_MS_MAX
        ? `the payment provider (${provider.name}) does not answer, or refuses our key; card money waits`
        : undefined,
  }
}
