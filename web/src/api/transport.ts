import { words } from '../strings/common.ts'
import { RequestError } from './request-error.ts'
import { ACCOUNT_HEADER, CSRF_HEADER } from './routes.generated.ts'
import { shownAccount } from './shown-account.ts'

/** Longer than the slowest answer the service gives; then we say so instead of turning a spinner. */
const TIMEOUT_MS = 10_000

/** What only the application can do about an answer: ask for a second factor, or for a new sign-in. */
export interface Gates {
  /** Resolves to whether a second factor was given. */
  readonly stepUp: () => Promise<boolean>
  readonly signedOut: () => void
  /** Reads the session again, and with it the CSRF token. Resolves to whether somebody is signed in. */
  readonly renew: () => Promise<boolean>
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

/** Sends a request. What stands in its way, such as a missing second factor, is cleared once; then it is repeated. */
export async function send(request: Request): Promise<unknown> {
  const cleared = new Set<string>()
  // Once, also for what is repeated: what was pressed in one account must not be done in the one that the page shows by then.
  const account = shownAccount()
  for (;;) {
    try {
      return await (request.method === 'POST' ? act(request, account) : sendOnce(request, account))
    } catch (error) {
      if (!(error instanceof RequestError) || !gates.current || cleared.has(error.type)) throw error
      cleared.add(error.type)
      const mayRepeat = await clearTheWay(error, gates.current)
      if (!mayRepeat) throw error
    }
  }
}

async function clearTheWay({ type }: RequestError, { stepUp, renew, signedOut }: Gates): Promise<boolean> {
  switch (type) {
    case 'step_up_required':
      return stepUp()
    case 'request_forged':
      await renew()
      return true
    case 'sign_in_required': {
      // A request with the cookie from before a second factor was given is refused, but nobody is signed out.
      const isSignedIn = await renew().catch(() => false)
      if (!isSignedIn) signedOut()
      return isSignedIn
    }
    case 'role_missing':
    case 'account_mismatch':
      // Since the page was loaded the role was changed, the reader was removed, or another window has switched accounts: the session says
      // which.
      renew().catch(() => {})
      return false
    default:
      return false
  }
}

/** Actions under way, and how many there have been. */
const acting = new Set<Promise<unknown>>()
let acts = 0

function act(request: Request, account: string | null): Promise<unknown> {
  acts++
  const done = sendOnce(request, account).finally(() => acting.delete(done))
  acting.add(done)
  return done
}

/** Reads while no action is under way: one may give the session another cookie, and a read with the one before finds nobody. */
export async function betweenActs<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let reads = 1; ; reads++) {
    await Promise.allSettled(acting)
    const before = acts
    const result = await read()
    if (acts === before || reads === READS_MAX) return result
  }
}
const READS_MAX = 5

async function sendOnce({ method, path, body, signal }: Request, account: string | null): Promise<unknown> {
  // A browser that says so has no network at all; one that says nothing may have none.
  if (navigator.onLine === false)
    throw new RequestError({ type: 'offline', status: 0, message: words.failures.offline(method) })
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const init: RequestInit = {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(account === null ? {} : { [ACCOUNT_HEADER]: account }),
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
  const { type, message } = readError(text)
  return new RequestError({
    type: type ?? (response.status >= 500 ? 'internal_error' : 'unexpected_answer'),
    status: response.status,
    message: message ?? words.failures.unexpected(response.status),
    requestId,
  })
}

function readError(text: string): { type?: string; message?: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { type?: string; message?: string } }
    return error ?? {}
  } catch {
    // Not ours: a proxy in between answered.
    return {}
  }
}
