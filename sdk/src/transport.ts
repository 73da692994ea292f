import { type Attempt, attempt } from './attempt.ts'
import { type Call, readRateLimits, toCall, type WithResponse } from './call.ts'
import { BASE_PATH, routes } from './contract.ts'
import { type Deadline, deadline } from './deadline.ts'
import { AbortedError, ApiError, ShopwireError, TimeoutError } from './errors.ts'
import { backoffMs, isAnswerLost, isOrderVerdict, waitBeforeRetryMs } from './retries.ts'
import type { CallOptions, Settings } from './settings.ts'
import { type CryptoKey, hmacKey, toBytes } from './signing.ts'
import { sleep } from './sleep.ts'
import type { ServiceStatus } from './types.ts'

export type RouteName = keyof typeof routes

export interface Wanted {
  /** In the place of `{id}`. */
  readonly id?: string
  readonly query?: object | undefined
  readonly body?: object
  readonly ifNoneMatch?: string | undefined
  readonly options?: CallOptions | undefined
}

/** Sends requests: serialised once, signed anew for every attempt, sent again only when that is safe. */
export class Transport {
  readonly #settings: Settings
  #key: Promise<CryptoKey> | undefined
  #clockOffsetMs = 0

  constructor(settings: Settings) {
    this.#settings = settings
  }

  get clockOffsetMs(): number {
    return this.#clockOffsetMs
  }

  call<Data>(route: RouteName, wanted: Wanted = {}): Call<Data> {
    return toCall(this.send<Data>(route, wanted))
  }

  async send<Data>(route: RouteName, wanted: Wanted): Promise<WithResponse<Data>> {
    const { signal, within = Number.POSITIVE_INFINITY } = wanted.options ?? {}
    const what = `${routes[route].method} ${BASE_PATH}${routes[route].path}`
    const limit = deadline(within, signal, (end) =>
      end === 'aborted'
        ? new AbortedError(`${what} was aborted by its signal.`, { cause: signal?.reason })
        : new TimeoutError(`${what} was not answered within ${within} ms, all attempts together.`),
    )
    try {
      return await this.#send<Data>(route, wanted, limit)
    } finally {
      limit.clear()
    }
  }

  async #send<Data>(route: RouteName, wanted: Wanted, limit: Deadline): Promise<WithResponse<Data>> {
    const { maxRetries = this.#settings.maxRetries } = wanted.options ?? {}
    let sent = 0
    const prepared = this.#prepare(route, wanted, { signal: limit.signal, onSend: () => (sent += 1) })
    let mayBeBought = false
    for (let attempts = 1; ; attempts++) {
      const sentBefore = sent
      try {
        const { response, data } = await attempt(prepared)
        const requestId = response.headers.get('x-request-id') ?? undefined
        return {
          data: data as Data,
          response,
          requestId,
          rateLimit: readRateLimits(response.headers),
          attempts,
        }
      } catch (error) {
        if (!(error instanceof ShopwireError)) throw error
        this.#learnClock(error)
        const isSent = sent > sentBefore
        error.attempts = isSent ? attempts : attempts - 1
        if (route === 'postOrders') {
          mayBeBought = (isSent && isAnswerLost(error)) || (mayBeBought && !isOrderVerdict(error))
          error.isOutcomeUnknown = mayBeBought
        }
        // The secret of a new endpoint is returned once. After a lost answer, a retry would get the endpoint without its secret.
        if (route === 'postWebhook' && isAnswerLost(error)) throw error
        const waitMs = attempts <= maxRetries ? waitBeforeRetryMs(error, attempts) : undefined
        if (waitMs === undefined || waitMs >= limit.leftMs() || limit.signal.aborted) throw error
        try {
          if (route !== 'postOrders' || !isUnavailable(error)) await sleep(waitMs, limit.signal)
          else attempts = await this.#untilOrdersAreTaken(error, attempts, maxRetries, waitMs, wanted, limit)
        } catch (ended) {
          // The outcome does not change between two attempts.
          if (ended instanceof ShopwireError)
            Object.assign(ended, { attempts, isOutcomeUnknown: mayBeBought })
          throw ended
        }
      }
    }
  }

  /**
   * After a 503 an order is sent again only when /status says that the store is open and the API operational. Each
   * other result counts as an attempt.
   */
  async #untilOrdersAreTaken(
    error: ShopwireError,
    attempts: number,
    maxRetries: number,
    waitMs: number,
    { options = {} }: Wanted,
    { signal }: Deadline,
  ): Promise<number> {
    const isClosed = error instanceof ApiError && error.type === 'store_closed'
    const takesOrders = async () => {
      const status = await this.#readStatus(options, signal)
      return status?.api === 'up' && (!isClosed || status.store === 'open')
    }
    // A closed store usually stays closed for longer than the retries last, so the error is thrown at once.
    if (isClosed && !(await takesOrders())) throw error
    await sleep(waitMs, signal)
    while (!(await takesOrders())) {
      if (!(++attempts <= maxRetries)) throw error
      await sleep(backoffMs(attempts), signal)
    }
    return attempts
  }

  async #readStatus({ timeout }: CallOptions, signal: AbortSignal): Promise<ServiceStatus | undefined> {
    try {
      const options = { timeout, signal, maxRetries: 0 }
      return (await this.send<ServiceStatus>('getStatus', { options })).data
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ShopwireError) return undefined
      throw error
    }
  }

  #prepare(
    route: RouteName,
    { id, query, body, ifNoneMatch, options = {} }: Wanted,
    ending: Pick<Attempt, 'signal' | 'onSend'>,
  ): Attempt {
    const { method, path, isSigned, answers } = routes[route]
    const { baseUrl, keyId, secret, fetch, timeout, now } = this.#settings
    const place = path.includes('{id}') ? path.replace('{id}', segment(id)) : path
    // fetch sends the URL as its parser normalises it, so the normalised form is signed.
    const url = new URL(`${baseUrl}${place}${queryText(query)}`)
    this.#key ??= hmacKey(secret)
    return {
      method,
      url,
      body: body && toBytes(JSON.stringify(body)),
      ifNoneMatch,
      answers,
      signer: isSigned ? { keyId, key: this.#key } : undefined,
      now: () => now() + this.#clockOffsetMs,
      fetch,
      timeout: options.timeout ?? timeout,
      ...ending,
    }
  }

  /** The clock is adjusted only when the service refuses a timestamp. */
  #learnClock(error: ShopwireError): void {
    if (!(error instanceof ApiError) || error.type !== 'timestamp_out_of_range') return
    const serverMs = Date.parse(error.headers.get('date') ?? '')
    if (!Number.isNaN(serverMs)) this.#clockOffsetMs = serverMs - this.#settings.now()
  }
}

/** A 503 of the service or of a proxy in front of it. */
function isUnavailable(error: ShopwireError): boolean {
  return 'status' in error && error.status === 503
}

/** The URL parser would resolve `.` and `..`, and an empty id would address the list. */
function segment(id: unknown): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id))
    throw new TypeError(`${JSON.stringify(id) ?? 'undefined'} is not an id.`)
  return encodeURIComponent(id)
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return text && `?${text}`
}
