/** A promise of the data that can also return the HTTP response. */
export type Call<Data> = Promise<Data> & {
  withResponse(): Promise<WithResponse<Data>>
}

export interface WithResponse<Data> {
  readonly data: Data
  /** Status and headers; its body has been read. */
  readonly response: Response
  readonly requestId: string | undefined
  /** What is left in each window, by its name; empty for public calls. */
  readonly rateLimit: RateLimits
  /** How often the request was sent. */
  readonly attempts: number
}

/** `req` counts every signed request, `orders` counts orders within them. */
export type RateLimits = Readonly<Partial<Record<'req' | 'orders', RateLimit>>>

export interface RateLimit {
  readonly remaining: number
  /** Seconds until the oldest counted request leaves the window. */
  readonly resetAfter: number
}

export function toCall<Data>(answer: Promise<WithResponse<Data>>): Call<Data> {
  const data = answer.then((given) => given.data)
  return Object.assign(data, {
    withResponse() {
      // The data's promise is no longer awaited; the failure is reported by the returned one, not as an unhandled rejection.
      data.catch(() => {})
      return answer
    },
  })
}

export function readRateLimits(headers: Headers): RateLimits {
  const windows = [...(headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)]
  return Object.fromEntries(
    windows.map(([, name, r, t]) => [name, { remaining: Number(r), resetAfter: Number(t) }]),
  )
}
