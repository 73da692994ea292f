import { connectionReason } from '../trouble.ts'

export interface Forwarded {
  readonly status: number | null
  readonly ms: number
  /** Why there is no status. */
  readonly error: string | null
}

/** The store waits that long too. */
const ANSWER_MS_MAX = 10_000

/** These bytes with these headers, once. What the receiver says is looked at no further than its status. */
export async function forward(
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Forwarded> {
  const startedMs = performance.now()
  const ms = () => Math.round(performance.now() - startedMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: Buffer.from(body, 'utf8'),
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    await response.arrayBuffer().catch(() => {})
    return { status: response.status, ms: ms(), error: null }
  } catch (error) {
    const { name, message, cause } = error as Error
    const reason =
      name === 'TimeoutError'
        ? `no answer within ${ANSWER_MS_MAX / 1000} s`
        : (connectionReason(error) ?? (cause as Error | undefined)?.message ?? message)
    return { status: null, ms: ms(), error: reason.replace(/\.$/, '') }
  }
}

export function isAccepted({ status }: Forwarded): boolean {
  return status !== null && status >= 200 && status < 300
}
