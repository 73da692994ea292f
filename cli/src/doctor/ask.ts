import type { Credentials } from '../profiles/credentials.ts'
import { signedRequest, thisMoment } from '../store/signed-request.ts'

const ANSWER_MS_MAX = 10_000

export interface Answer {
  readonly status: number
  readonly type: string | undefined
  readonly body: Record<string, unknown>
  readonly headers: Headers
}

export type Call = (method: string, path: string, body?: string) => Promise<Answer>

/**
 * Signs with the store's time when the local clock is wrong, so that this problem does not hide others. `signedBase` is signed in
 * place of the path of the base URL.
 */
export function caller(credentials: Credentials, offsetS: number, signedBase = basePath(credentials)): Call {
  const base = basePath(credentials)
  return async (method, path, body = '') => {
    const now = thisMoment()
    const moment = { ...now, timestamp: String(Number(now.timestamp) + offsetS) }
    const request = signedRequest(
      credentials,
      { method, target: `${signedBase}${path}`, body: Buffer.from(body) },
      moment,
    )
    const url = `${new URL(request.url).origin}${base}${path}`
    return exchange(url, { method, headers: request.headers, body: body === '' ? null : body })
  }
}

export function basePath({ baseUrl }: Credentials): string {
  return new URL(baseUrl).pathname.replace(/\/+$/, '')
}

export async function exchange(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, {
    ...init,
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  })
  const text = await response.text()
  let body: Record<string, unknown> = {}
  try {
    body = (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    // The body is not from the store; the status is reported.
  }
  const { type } = (body.error ?? {}) as { type?: unknown }
  return {
    status: response.status,
    headers: response.headers,
    body,
    type: typeof type === 'string' ? type : undefined,
  }
}

export function isRefusedSignature({ status, type }: Answer): boolean {
  return status === 401 && type !== 'timestamp_out_of_range'
}
