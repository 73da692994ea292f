import { connectionReason } from '../trouble.ts'

export interface Forwarded {
  readonly status: number | null
  readonly ms: number
  /** Why there is no status. */
  readonly error: string | null
}

/** The same timeout as the store's. */
const ANSWER_MS_MAX = 10_000

/** Sends these bytes with these headers once. Only the status of the answer is read. */
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
