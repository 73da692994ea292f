import { type Attempt, attempt } from './attempt.ts'
import { type Call, readRateLimits, toCall, type WithResponse } from './call.ts'
import { routes } from './contract.ts'
import { ApiError, ShopwireError } from './errors.ts'
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
    const { signal, maxRetries = this.#settings.maxRetries } = wanted.options ?? {}
    const prepared = this.#prepare(route, wanted)
    let mayBeBought = false
    for (let attempts = 1; ; attempts++) {
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
        error.attempts = attempts
        if (route === 'postOrders') {
          mayBeBought = isAnswerLost(error) || (mayBeBought && !isOrderVerdict(error))
          error.isOutcomeUnknown = mayBeBought
        }
        // The secret of a new endpoint is returned once. After a lost answer, a retry would get the endpoint without its secret.
        if (route === 'postWebhook' && isAnswerLost(error)) throw error
        const waitMs = attempts <= maxRetries ? waitBeforeRetryMs(error, attempts) : undefined
        if (waitMs === undefined) throw error
        if (route !== 'postOrders' || !isUnavailable(error)) await sleep(waitMs, signal)
        else attempts = await this.#untilOrdersAreTaken(error, attempts, maxRetries, waitMs, wanted)
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
  ): Promise<number> {
    const isClosed = error instanceof ApiError && error.type === 'store_closed'
    const takesOrders = async () => {
      const status = await this.#readStatus(options)
      return status?.api === 'up' && (!isClosed || status.store === 'open')
    }
    // A closed store usually stays closed for longer than the retries last, so the error is thrown at once.
    if (isClosed && !(await takesOrders())) throw error
    await sleep(waitMs, options.signal)
    while (!(await takesOrders())) {
      if (!(++attempts <= maxRetries)) throw error
      await sleep(backoffMs(attempts), options.signal)
    }
    return attempts
  }

  async #readStatus(options: CallOptions): Promise<ServiceStatus | undefined> {
    try {
      return (await this.send<ServiceStatus>('getStatus', { options: { ...options, maxRetries: 0 } })).data
    } catch (error) {
      if (error instanceof ShopwireError) return undefined
      throw error
    }
  }

  #prepare(route: RouteName, { id, query, body, ifNoneMatch, options = {} }: Wanted): Attempt {
    const { method, path, isSigned } = routes[route]
    const { baseUrl, keyId, secret, fetch, timeout, now } = this.#settings
    // fetch sends the URL as its parser normalises it, so the normalised form is signed.
    const url = new URL(
      `${baseUrl}${id === undefined ? path : path.replace('{id}', segment(id))}${queryText(query)}`,
    )
    this.#key ??= hmacKey(secret)
    return {
      method,
      url,
      body: body && toBytes(JSON.stringify(body)),
      ifNoneMatch,
      signer: isSigned ? { keyId, key: this.#key } : undefined,
      now: () => now() + this.#clockOffsetMs,
      fetch,
      timeout: options.timeout ?? timeout,
      signal: options.signal,
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
function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id))
    throw new TypeError(`${JSON.stringify(id)} is not an id.`)
  return encodeURIComponent(id)
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  return text && `?${text}`
}
