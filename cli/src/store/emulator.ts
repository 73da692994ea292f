import type { AboutEmulator, EmulatedOrder, LedgerTransfer, RecordedRequest } from '@shopwire/emulator'
import type { Credentials } from '../profiles/credentials.ts'
import { CliError, connectionReason, EXIT } from '../trouble.ts'
import { askEmulator, EmulatorRefused, EmulatorUnreachable } from './control.ts'
import { isLoopback } from './loopback.ts'

export const EMULATOR_URL_DEFAULT = 'http://127.0.0.1:4010'

const PROBE_MS_MAX = 2_000

/** A client of the emulator's control interface. */
export class Emulator {
  readonly origin: string

  constructor(url: string) {
    this.origin = new URL(url).origin
  }

  facts(): Promise<AboutEmulator> {
    return this.#call('GET', '')
  }

  orders(
    query: { idempotency_key?: string; account_id?: string } = {},
  ): Promise<{ orders: EmulatedOrder[] }> {
    return this.#call('GET', `/orders${queryText(query)}`)
  }

  requests(query: { after: number; limit: number }): Promise<{ requests: RecordedRequest[]; last: number }> {
    return this.#call('GET', `/requests${queryText(query)}`)
  }

  /** The number of the newest change. */
  async lastSeq(): Promise<number> {
    return (await this.requests({ after: 0, limit: 1 })).last
  }

  ledger(query: { account_id?: string }): Promise<{ balance_cents: number; transfers: LedgerTransfer[] }> {
    return this.#call('GET', `/ledger${queryText(query)}`)
  }

  setWebhook(wanted: { url: string | null; secret?: string; account_id?: string }): Promise<unknown> {
    return this.#call('POST', '/webhook', wanted)
  }

  #call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    return askEmulator<Answer>(this.origin, { method, path, body }).catch((error: unknown) => {
      throw this.#explained(error)
    })
  }

  #explained(error: unknown): unknown {
    const isRefusal = error instanceof EmulatorRefused
    if (!isRefusal && !(error instanceof EmulatorUnreachable)) return error
    const { message, status, cause } = error
    if (status === undefined) {
      return new CliError({
        type: 'connection_failed',
        message,
        why: connectionReason(cause) ?? String((cause as Error).message ?? cause),
        next: 'Start one with `npx @shopwire/emulator`, or give its address.',
        exitCode: EXIT.unavailable,
      })
    }
    return new CliError({
      type: isRefusal ? error.type : 'unexpected_response',
      message,
      next: `Check that ${this.origin} is an emulator.`,
      exitCode: status === 404 ? EXIT.notFound : EXIT.failed,
    })
  }
}

/** The emulator behind these credentials, if it is one. Only loopback addresses are tried. */
export async function findEmulator({ baseUrl, emulatorUrl }: Credentials): Promise<Emulator | undefined> {
  const url = emulatorUrl ?? (URL.canParse(baseUrl) ? baseUrl : undefined)
  if (url === undefined || !isLoopback(new URL(url).hostname)) return undefined
  const emulator = new Emulator(url)
  try {
    const response = await fetch(`${emulator.origin}/_emulator`, {
      redirect: 'error',
      signal: AbortSignal.timeout(PROBE_MS_MAX),
    })
    const facts = (await response.json()) as Partial<AboutEmulator>
    return response.ok && typeof facts.base_url === 'string' ? emulator : undefined
  } catch {
    return undefined
  }
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')
  return text && `?${text}`
}
