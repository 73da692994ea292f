import { BASE_PATH, requestHeaders, SDK_VERSION } from './contract.ts'
import { deadline } from './deadline.ts'
import {
  apiError,
  ConnectionError,
  type ShopwireError,
  TimeoutError,
  UnexpectedResponseError,
} from './errors.ts'
import { type Bytes, type CryptoKey, signWith, toHex } from './signing.ts'

export interface Attempt {
  readonly method: string
  readonly url: URL
  readonly body: Bytes | undefined
  /** The entity tag of the version that the caller already has. */
  readonly ifNoneMatch: string | undefined
  /** What the body of a success always has. */
  readonly answers: readonly string[]
  /** Undefined: a public call. */
  readonly signer: { readonly keyId: string; readonly key: Promise<CryptoKey> } | undefined
  /** Corrected by the known offset to the service's clock. */
  readonly now: () => number
  readonly fetch: typeof globalThis.fetch
  readonly timeout: number
  /** Ends the whole call; its reason is the error that the call fails with. */
  readonly signal: AbortSignal
  /** Called right before the request is sent. */
  readonly onSend: () => void
}

const NONCE_BYTES = 16

/**
 * Signs with the current time and a new nonce, sends once, and reads the whole answer. `data` is undefined for a 304.
 */
export async function attempt(request: Attempt): Promise<{ response: Response; data: unknown }> {
  const headers = await headersOf(request)
  request.signal.throwIfAborted()
  request.onSend()
  const { response, text } = await exchange(request, headers)
  const body = parse(text)
  if (response.ok && body && request.answers.every((name) => Object.hasOwn(body, name)))
    return { response, data: body }
  // Without If-None-Match a 304 is an error: its empty body would look like an empty catalogue.
  if (response.status === 304 && request.ifNoneMatch) return { response, data: undefined }
  throw refusal(response, body, request.url)
}

async function headersOf(request: Attempt): Promise<Record<string, string>> {
  const { method, url, body, ifNoneMatch, signer, now } = request
  const headers: Record<string, string> = {
    Accept: 'application/json',
    'User-Agent': `shopwire-sdk/${SDK_VERSION}`,
    ...(body && { 'Content-Type': 'application/json' }),
    ...(ifNoneMatch && { 'If-None-Match': ifNoneMatch }),
  }
  if (!signer) return headers
  const target = `${url.pathname}${url.search}`
  const timestamp = String(Math.floor(now() / 1000))
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
  return {
    ...headers,
    [requestHeaders.key]: signer.keyId,
    [requestHeaders.timestamp]: timestamp,
    [requestHeaders.nonce]: nonce,
    [requestHeaders.signature]: await signWith(await signer.key, { method, target, timestamp, nonce, body }),
  }
}

async function exchange(
  { method, url, body, fetch, timeout, signal }: Attempt,
  headers: Record<string, string>,
): Promise<{ response: Response; text: string }> {
  const limit = deadline(timeout, signal)
  try {
    // Following a redirect would send the signed headers to another host.
    const response = await fetch(url.href, {
      method,
      headers,
      body: body ?? null,
      redirect: 'manual',
      signal: limit.signal,
    })
    return { response, text: await response.text() }
  } catch (cause) {
    signal.throwIfAborted()
    const what = `${method} ${url.pathname}`
    if (limit.signal.aborted) {
      throw new TimeoutError(`${what} was not answered in full within ${timeout} ms.`, { cause })
    }
    throw new ConnectionError(`${what} failed: ${reasonOf(cause)}.`, { cause })
  } finally {
    limit.clear()
  }
}

/** Every body of the service is a JSON object. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function refusal(response: Response, body: Record<string, unknown> | undefined, url: URL): ShopwireError {
  const { status, headers } = response
  const { type, message } = (body?.error ?? {}) as { type?: unknown; message?: unknown }
  if (typeof type === 'string' && typeof message === 'string') {
    return apiError(message, { status, type, headers, docUrl: docUrl(url, type) })
  }
  // A browser hides what it was redirected to: status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400 && status !== 304)
  return new UnexpectedResponseError(
    isRedirect
      ? `${url.origin} redirects. Redirects are not followed: set baseUrl to the store's own address.`
      : `The answer with status ${status} does not come from the store: its body is not what the store sends.`,
    response,
  )
}

function docUrl({ origin, pathname }: URL, type: string): string {
  return `${origin}${pathname.slice(0, pathname.indexOf(`${BASE_PATH}/`))}/docs/reference/errors#${encodeURIComponent(type)}`
}

/** fetch says "fetch failed" and hides the reason one level deeper. */
function reasonOf(cause: unknown): string {
  const { message, cause: deeper } = cause as {
    message?: unknown
    cause?: { code?: unknown; message?: unknown }
  }
  return String(deeper?.code ?? deeper?.message ?? message ?? cause)
}
