import type { TokenAccess } from '../profiles/credentials.ts'
import { CliError, connectionReason, EXIT } from '../trouble.ts'

const ANSWER_MS_MAX = 20_000

const exitCodes: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.auth,
  403: EXIT.auth,
  404: EXIT.notFound,
  429: EXIT.rateLimited,
}

/** A client of what the store's dashboard offers to a personal access token. It only reads. */
export class Dashboard {
  readonly origin: string
  readonly #token: string

  constructor({ dashboardUrl, token }: Pick<TokenAccess, 'dashboardUrl' | 'token'>) {
    this.origin = new URL(dashboardUrl).origin
    this.#token = token
  }

  async json<Answer>(path: string): Promise<Answer> {
    const response = await this.get(path, {}, AbortSignal.timeout(ANSWER_MS_MAX))
    return (await response.json()) as Answer
  }

  /** The answer, when it is a good one. */
  async get(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const response = await fetch(`${this.origin}${path}`, {
      headers: { ...headers, authorization: `Bearer ${this.#token}` },
      // A token must not follow a redirect to another host.
      redirect: 'error',
      signal,
    }).catch((error: unknown) => {
      if (signal.aborted) throw error
      throw this.#unreachable(error)
    })
    if (!response.ok) throw await this.#refused(response)
    return response
  }

  #unreachable(error: unknown): CliError {
    return new CliError({
      type: 'connection_failed',
      message: `The dashboard at ${this.origin} could not be reached.`,
      why: connectionReason(error) ?? String((error as Error).message ?? error),
      next: 'Check its address (SHOPWIRE_DASHBOARD_URL, or `shopwire login`) and the network.',
      exitCode: EXIT.unavailable,
    })
  }

  async #refused(response: Response): Promise<CliError> {
    const { status, headers } = response
    const text = await response.text().catch(() => '')
    const { type, message } = errorIn(text)
    if (type === undefined || message === undefined) {
      return new CliError({
        type: 'unexpected_response',
        message: `${this.origin} answered ${status}, and not as a dashboard does.`,
        next: 'Check that it is the address of the dashboard, not that of the API.',
        exitCode: status >= 500 ? EXIT.unavailable : EXIT.failed,
      })
    }
    return new CliError({
      type,
      message,
      next:
        status === 401 || status === 403
          ? 'Create a token in the dashboard, under API keys, Command line; then run `shopwire login`.'
          : undefined,
      requestId: headers.get('x-request-id') ?? undefined,
      exitCode: exitCodes[status] ?? (status >= 500 ? EXIT.unavailable : EXIT.failed),
    })
  }
}

function errorIn(text: string): { type?: string; message?: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { type?: unknown; message?: unknown } }
    return typeof error?.type === 'string' && typeof error.message === 'string'
      ? { type: error.type, message: error.message }
      : {}
  } catch {
    return {}
  }
}
