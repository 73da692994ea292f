import { Refusal } from '../platform/trouble.ts'
import type { FundingMetrics } from './metrics.ts'
import type { PaymentProvider } from './provider.ts'

/** Another worker may ask what this one could not: after this time without a question nobody knows. */
const KNOWN_MS_MAX = 5 * 60_000

export interface WatchedProvider extends PaymentProvider {
  /** Why card money waits; undefined while the provider answers, or when it was not asked for a while. */
  problem(): string | undefined
}

/** The same provider; its answers are counted, and so is each time there was none. */
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
