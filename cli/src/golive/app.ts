import type { Line } from './carts.ts'

/** The integrator's application, with the endpoints that its customers and the store call. */
export interface AppUrls {
  readonly buy: string
  readonly webhook?: string | undefined
  /** With `{purchase}` where the id goes. */
  readonly state?: string | undefined
  readonly reconcile?: string | undefined
}

export interface AppAnswer {
  /** Null: no answer, or not in time. */
  readonly status: number | null
  readonly text: string
  readonly ms: number
  readonly error?: string
}

export interface AppState {
  readonly status: string
  /** How many links it has, if it reports that. */
  readonly links: number | undefined
  /** How many events about this purchase were handled, if it reports that. */
  readonly handled: number | undefined
}

const STATE_MS_MAX = 10_000

export class App {
  readonly urls: AppUrls
  /** All its answers, to search them for links and secrets. */
  readonly answers: { readonly from: string; readonly text: string }[] = []

  constructor(urls: AppUrls) {
    this.urls = urls
  }

  buy(purchase: string, items: readonly Line[], msMax: number): Promise<AppAnswer> {
    return this.#send(
      'buy',
      this.urls.buy,
      { 'content-type': 'application/json' },
      json({ purchase, items }),
      msMax,
    )
  }

  event(headers: Record<string, string>, body: string, msMax: number): Promise<AppAnswer> {
    return this.#send('webhook', this.urls.webhook ?? '', headers, body, msMax)
  }

  reconcile(msMax: number): Promise<AppAnswer> {
    return this.#send(
      'reconcile',
      this.urls.reconcile ?? '',
      { 'content-type': 'application/json' },
      '{}',
      msMax,
    )
  }

  /** Undefined when it does not know this purchase (yet). */
  async state(purchase: string): Promise<AppState | undefined> {
    const url = (this.urls.state ?? '').replaceAll('{purchase}', encodeURIComponent(purchase))
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(STATE_MS_MAX) }).catch(
      () => null,
    )
    if (!answer?.ok) return undefined
    const text = await answer.text()
    this.answers.push({ from: 'state', text })
    const { status, links, handled } = parse(text)
    return {
      status: typeof status === 'string' ? status : 'unknown',
      links: Array.isArray(links) ? links.length : typeof links === 'number' ? links : undefined,
      handled: typeof handled === 'number' ? handled : undefined,
    }
  }

  async #send(
    from: string,
    url: string,
    headers: Record<string, string>,
    body: string,
    msMax: number,
  ): Promise<AppAnswer> {
    const began = performance.now()
    const ms = () => Math.round(performance.now() - began)
    try {
      const signal = AbortSignal.timeout(msMax)
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      const text = await answer.text()
      this.answers.push({ from, text })
      return { status: answer.status, text, ms: ms() }
    } catch (error) {
      return { status: null, text: '', ms: ms(), error: reasonOf(error, msMax) }
    }
  }
}

export function isTwoHundred({ status }: { readonly status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300
}

/** "answered 503", "did not answer within 10 s". */
export function describeAnswer({ status, error }: AppAnswer): string {
  return status === null ? `gave no answer (${error})` : `answered ${status}`
}

function json(value: unknown): string {
  return JSON.stringify(value)
}

function parse(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

function reasonOf(error: unknown, msMax: number): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return `nothing within ${msMax / 1000} s`
  return cause?.code ?? cause?.message ?? message
}
