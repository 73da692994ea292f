import { words } from '#kit/words.ts'
import { RequestError } from '#lib/request-error.ts'

/** Longer than the slowest answer the service gives; then we say so instead of turning a spinner. */
const TIMEOUT_MS = 10_000
const READS_MAX = 5

/** What only the application can do about an answer: ask for a second factor, or for a new sign-in. */
export interface Gates {
  /** Resolves to whether a second factor was given. */
  readonly stepUp: () => Promise<boolean>
  readonly signedOut: () => void
  /** Reads the session again, and with it the CSRF token. Resolves to whether somebody is signed in. */
  readonly renew: () => Promise<boolean>
}

export interface Request {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

export interface TransportOptions {
  /** Where an action carries the token of the session. */
  readonly csrfHeader: string
  /** What every request names, such as the account that the page shows. */
  readonly headers: () => Readonly<Record<string, string>>
}

export type Transport = ReturnType<typeof createTransport>

/** The requests of one application to its own origin. */
export function createTransport({ csrfHeader, headers }: TransportOptions) {
  let gates: Gates | undefined
  let csrfToken = ''
  /** Actions under way, and how many there have been. */
  const acting = new Set<Promise<unknown>>()
  let acts = 0

  const sendNamed = (request: Request, named: Readonly<Record<string, string>>): Promise<unknown> => {
    if (request.method === 'GET') return sendOnce(request, named)
    acts++
    const done = sendOnce(request, { ...named, [csrfHeader]: csrfToken }).finally(() => acting.delete(done))
    acting.add(done)
    return done
  }

  return {
    setGates: (value: Gates): void => {
      gates = value
    },

    setCsrfToken: (token: string): void => {
      csrfToken = token
    },

    /** Sends a request. What stands in its way, such as a missing second factor, is cleared once; then it is repeated. */
    send: async (request: Request): Promise<unknown> => {
      const cleared = new Set<string>()
      // Once, also for what is repeated: what was pressed in one account must not be done in the one that the page shows by then.
      const named = headers()
      for (;;) {
        try {
          return await sendNamed(request, named)
        } catch (error) {
          if (!(error instanceof RequestError) || !gates || cleared.has(error.type)) throw error
          cleared.add(error.type)
          const mayRepeat = await clearTheWay(error, gates)
          if (!mayRepeat) throw error
        }
      }
    },

    /** Reads while no action is under way: one may give the session another cookie, and a read with the one before finds nobody. */
    betweenActs: async <Result>(read: () => Promise<Result>): Promise<Result> => {
      for (let reads = 1; ; reads++) {
        await Promise.allSettled(acting)
        const before = acts
        const result = await read()
        if (acts === before || reads === READS_MAX) return result
      }
    },
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

async function sendOnce(
  { method, path, body, signal }: Request,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  // A browser that says so has no network at all; one that says nothing may have none.
  if (navigator.onLine === false)
    throw new RequestError({ type: 'offline', status: 0, message: words.failures.offline(method) })
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const init: RequestInit = {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...headers,
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
