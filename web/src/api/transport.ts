import { words } from '../strings/common.ts'
import { RequestError } from './request-error.ts'
import { CSRF_HEADER } from './routes.generated.ts'

/** Longer than the slowest answer the service gives; then we say so instead of turning a spinner. */
const TIMEOUT_MS = 10_000

/** What only the application can do about an answer: ask for a second factor, or for a new sign-in. */
export interface Gates {
  /** Resolves to whether a second factor was given. */
  readonly stepUp: () => Promise<boolean>
  readonly signedOut: () => void
  /** Reads the session again, and with it the CSRF token. */
  readonly renew: () => Promise<unknown>
}

const gates: { current: Gates | undefined } = { current: undefined }
let csrfToken = ''

export function setGates(value: Gates): void {
  gates.current = value
}

export function setCsrfToken(token: string): void {
  csrfToken = token
}

export interface Request {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Sends a request. One that needs a second factor, or whose CSRF token another tab replaced, is repeated once. */
export async function send(request: Request): Promise<unknown> {
  try {
    return await sendOnce(request)
  } catch (error) {
    if (!(error instanceof RequestError) || !gates.current) throw error
    if (error.type === 'sign_in_required') gates.current.signedOut()
    // The role was changed, or the reader was removed, since the page was loaded: it learns who it is for now.
    if (error.type === 'role_missing') gates.current.renew().catch(() => {})
    const mayRepeat = await clearTheWay(error, gates.current)
    if (!mayRepeat) throw error
    return sendOnce(request)
  }
}

async function clearTheWay(error: RequestError, { stepUp, renew }: Gates): Promise<boolean> {
  if (error.type === 'step_up_required') return stepUp()
  if (error.type !== 'request_forged') return false
  await renew()
  return true
}

async function sendOnce({ method, path, body, signal }: Request): Promise<unknown> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const init: RequestInit = {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(method === 'POST' ? { 'content-type': 'application/json', [CSRF_HEADER]: csrfToken } : {}),
    },
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
  }
  let response: Response
  let text: string
  try {
    response = await fetch(path, init)
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw noAnswer(method, timeout.aborted)
  }
  if (!response.ok) throw refused(response, text)
  return text === '' ? null : JSON.parse(text)
}

function noAnswer(method: 'GET' | 'POST', isTimeout: boolean): RequestError {
  const { timedOut, unreachable, unchanged, maybeChanged } = words.failures
  const what = isTimeout ? timedOut : unreachable
  return new RequestError({
    type: isTimeout ? 'timeout' : 'unreachable',
    status: 0,
    // An action without an answer may still have happened: saying otherwise could make somebody pay twice.
    message: `${what} ${method === 'GET' ? unchanged : maybeChanged}`,
  })
}

function refused(response: Response, text: string): RequestError {
  const requestId = response.headers.get('x-request-id') ?? undefined
  const { type, message, details } = readError(text)
  return new RequestError({
    type: type ?? (response.status >= 500 ? 'internal_error' : 'unexpected_answer'),
    status: response.status,
    message: message ?? words.failures.unexpected(response.status),
    requestId,
    details,
  })
}

function readError(text: string): { type?: string; message?: string; details?: unknown } {
  try {
    const { error } = JSON.parse(text) as {
      error?: { type?: string; message?: string; details?: unknown }
    }
    return error ?? {}
  } catch {
    // Not ours: a proxy in between answered.
    return {}
  }
}
