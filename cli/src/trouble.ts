import { ApiError, ConnectionError, type ErrorType, ShopwireError, TimeoutError } from '@shopwire/sdk'
import type { Output } from './terminal/output.ts'
import { jsonText, printable } from './terminal/paint.ts'

/** Exit codes; scripts depend on them, so their meaning never changes. */
export const EXIT = {
  ok: 0,
  /** The command failed, or a comparison found differences. */
  failed: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  conflict: 5,
  rateLimited: 6,
  unavailable: 7,
} as const

/** What happened, why, and what to do about it. */
export interface Trouble {
  readonly type: string
  readonly message: string
  readonly why?: string | undefined
  readonly next?: string | undefined
  readonly requestId?: string | undefined
  readonly docUrl?: string | undefined
  readonly exitCode: number
}

/** An error that a command detected itself. */
export class CliError extends Error {
  readonly trouble: Trouble

  constructor(trouble: Omit<Trouble, 'exitCode'> & { exitCode?: number }) {
    super(trouble.message)
    this.trouble = { exitCode: EXIT.failed, ...trouble }
  }
}

/** The command was called in the wrong way; nothing was sent. */
export class UsageError extends CliError {
  constructor(message: string, next: string) {
    super({ type: 'usage', message, next, exitCode: EXIT.usage })
  }
}

export function explain(error: unknown): Trouble {
  if (error instanceof CliError) return error.trouble
  if (error instanceof ApiError) return refusal(error)
  if (error instanceof ShopwireError) return noAnswer(error)
  const {
    message = String(error),
    code,
    path,
  } = error as { message?: string; code?: unknown; path?: unknown }
  if (typeof code === 'string' && typeof path === 'string' && fileReasons[code]) {
    return {
      type: code,
      message: `${path}: ${fileReasons[code]}.`,
      next: 'Check the path.',
      exitCode: EXIT.usage,
    }
  }
  // The SDK's message for an id that cannot be part of a path.
  if (error instanceof TypeError && message.endsWith('is not an id.')) {
    return { type: 'usage', message, next: '`--help` shows the usage.', exitCode: EXIT.usage }
  }
  return {
    type: typeof code === 'string' ? code : 'failed',
    message,
    why: process.env.SHOPWIRE_DEBUG ? (error as Error).stack : undefined,
    exitCode: EXIT.failed,
  }
}

const fileReasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  EPERM: 'you may not open it',
  EROFS: 'nothing can be written there',
  ENOTDIR: 'a part of the path is not a folder',
}

export function printTrouble(out: Output, trouble: Trouble): void {
  const { type, message, why, next, requestId, docUrl } = trouble
  if (out.isJson) {
    const error = { type, message, request_id: requestId ?? null, why, next, doc_url: docUrl }
    out.rawError(`${jsonText({ error })}\n`)
    return
  }
  const { paintError: paint } = out
  const width = Math.min(TEXT_WIDTH, Math.max(20, (process.stderr.columns ?? Infinity) - INDENT))
  const lines = [`${paint.red('✖')} ${paint.bold(printable(message))}`]
  if (why) lines.push(...labelled('Why', why))
  if (next) lines.push(...labelled('Next', next))
  if (requestId) lines.push(...labelled('Request', requestId))
  if (docUrl) lines.push(...labelled('Read', docUrl))
  out.rawError(`${lines.join('\n')}\n`)

  function labelled(label: string, text: string): string[] {
    const [first, ...rest] = text
      .split('\n')
      .map(printable)
      .flatMap((line) => wrapped(line, width))
    return [`  ${paint.dim(label.padEnd(8))}${first}`, ...rest.map((line) => `${' '.repeat(INDENT)}${line}`)]
  }
}

const TEXT_WIDTH = 96
const INDENT = 10
/** Lines meant to be copied are not wrapped. */
const COMMAND_FORM = /^(shopwire|chmod|npx) /

function wrapped(line: string, width: number): string[] {
  if (COMMAND_FORM.test(line)) return [line]
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    const at = rest.lastIndexOf(' ', width)
    if (at <= 0) break
    lines.push(rest.slice(0, at))
    rest = rest.slice(at + 1)
  }
  return [...lines, rest]
}

/** Exit codes by status; texts by error type are in `advice`. */
const exitCodes: Readonly<Record<number, number>> = {
  401: EXIT.auth,
  402: EXIT.conflict,
  403: EXIT.auth,
  404: EXIT.notFound,
  408: EXIT.unavailable,
  409: EXIT.conflict,
  429: EXIT.rateLimited,
}

const advice: Readonly<Record<ErrorType, { why: string; next: string }>> = {
  invalid_request: {
    why: 'The request breaks a rule of the interface.',
    next: 'Correct what the message points out. `--help` shows the usage.',
  },
  order_total_exceeded: {
    why: 'One order may cost $5,000.00 at most. Nothing was bought.',
    next: 'Split the cart into several orders, each with its own key.',
  },
  webhook_url_not_allowed: {
    why: 'Events are delivered to public HTTPS addresses only.',
    next: 'Use a public https:// address. On your own machine: the emulator with `shopwire listen`.',
  },
  authentication_failed: {
    why: 'Key id, secret or signature is wrong, or the key was revoked. The store does not say which.',
    next: 'Run `shopwire doctor`: it checks each of them.',
  },
  timestamp_out_of_range: {
    why: 'The clock of this machine is more than 60 seconds off.',
    next: 'Set the clock (for example `timedatectl set-ntp true`), then run `shopwire doctor`.',
  },
  nonce_reused: {
    why: 'A request with this nonce has arrived before. Something on the way repeats requests.',
    next: 'Run the command again. If it persists, look for a proxy that repeats requests.',
  },
  insufficient_funds: {
    why: 'The balance does not cover the cart. Nothing was bought, and the idempotency key is still unused.',
    next: 'Fund the account (an emulator: on its page), then run the same command with the same key.',
  },
  insufficient_scope: {
    why: 'This API key may not do that.',
    next: 'Use a key that has the scope; `shopwire doctor` lists the scopes of this one.',
  },
  account_suspended: {
    why: 'The store has suspended the account; every signed request is refused.',
    next: 'Ask the store. Orders that were paid are not lost.',
  },
  not_found: {
    why: 'It does not exist, or the order belongs to another account.',
    next: 'Check the id; for an order, also check whose key you use: `shopwire profile show`.',
  },
  method_not_allowed: {
    why: 'This path does not take this method.',
    next: 'Check that the base URL is the one of the store.',
  },
  request_timeout: {
    why: 'The request did not arrive in full within 5 seconds.',
    next: 'Run the command again.',
  },
  price_changed: {
    why: 'A price is no longer the one that was expected. Nothing was bought, and the key is still unused.',
    next: 'Check the new price with `shopwire quote`, then order with it.',
  },
  item_unavailable: {
    why: 'An item cannot be bought now. Nothing was bought, and the key is still unused.',
    next: 'See which with `shopwire quote`.',
  },
  idempotency_conflict: {
    why: 'This key has bought another cart, or the same one with other expected prices. Nothing was bought now.',
    next: 'To repeat that purchase, send items, quantities and @CENTS exactly. For a new purchase use a new key.',
  },
  webhook_not_configured: {
    why: 'The account has no endpoint.',
    next: 'Set one with `shopwire webhook set URL`.',
  },
  payload_too_large: { why: 'A body may have 16 KiB at most.', next: 'Send less.' },
  rate_limited: {
    why: 'The account has used all its requests of this minute. All its keys count together.',
    next: 'Wait, then run the command again.',
  },
  internal_error: {
    why: 'An internal error of the store.',
    next: 'Run the command again. If it persists, report the request id to the store.',
  },
  store_closed: {
    why: 'The store takes no new orders now. Nothing was bought.',
    next: 'Watch `shopwire status`, then run the same command with the same key.',
  },
  service_unavailable: {
    why: 'The store cannot answer now.',
    next: 'Watch `shopwire status`, then run the same command again.',
  },
}

function refusal(error: ApiError): Trouble {
  const { type, status, message, requestId, docUrl, retryAfter } = error
  const known = Object.hasOwn(advice, type) ? advice[type] : undefined
  const wait = retryAfter === undefined ? undefined : `Wait ${retryAfter} s, then run the command again.`
  return {
    type,
    message,
    why: known?.why,
    next: (type === 'rate_limited' && wait) || known?.next,
    requestId,
    docUrl,
    exitCode: exitCodes[status] ?? (status >= 500 ? EXIT.unavailable : EXIT.failed),
  }
}

function noAnswer(error: ShopwireError): Trouble {
  const common = { message: error.message, requestId: error.requestId, exitCode: EXIT.unavailable }
  if (error instanceof TimeoutError) {
    return {
      type: 'timeout',
      ...common,
      next: 'Run it again, or run `shopwire doctor` to find where it stops.',
    }
  }
  if (error instanceof ConnectionError) {
    return {
      type: 'connection_failed',
      ...common,
      why: connectionReason(error.cause),
      next: 'Check the base URL and the network; `shopwire doctor` checks DNS, TCP and TLS one by one.',
    }
  }
  return {
    type: 'unexpected_response',
    ...common,
    why: 'A proxy on the way answered instead of the store, or the base URL is not a store.',
    next: 'Check the base URL with `shopwire profile show`, then run `shopwire doctor`.',
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'No server listens there.',
  ENOTFOUND: 'The name of the host does not exist.',
  EAI_AGAIN: 'The name server did not answer.',
  ECONNRESET: 'The connection broke.',
  UND_ERR_SOCKET: 'The connection broke.',
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'A certificate of the chain is self-signed.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate is not signed by an authority that this machine trusts.',
  ERR_SSL_WRONG_VERSION_NUMBER: 'The server speaks http, not https.',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'The server speaks http, not https.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another name.',
}

export function connectionReason(cause: unknown): string | undefined {
  const { code, cause: deeper } = (cause ?? {}) as { code?: unknown; cause?: unknown }
  if (typeof code === 'string' && reasons[code]) return reasons[code]
  return deeper ? connectionReason(deeper) : undefined
}
