/** No emulator answered; `status` is set when something else did. */
export class EmulatorUnreachable extends Error {
  override name = 'EmulatorUnreachable'
  readonly status: number | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.status = options.status
  }
}

/** The emulator refused the request. */
export class EmulatorRefused extends Error {
  override name = 'EmulatorRefused'
  readonly type: string
  readonly status: number

  constructor(status: number, { type, message }: { readonly type: string; readonly message: string }) {
    super(message)
    this.type = type
    this.status = status
  }
}

export interface ControlRequest {
  readonly method: string
  /** Below `/_emulator`. */
  readonly path: string
  readonly body?: object | undefined
  readonly msMax?: number | undefined
}

const ANSWER_MS_MAX = 20_000

/** One request to an emulator's control interface, which `emulator/README.md` describes. */
export async function askEmulator<Answer>(
  url: string,
  { method, path, body, msMax = ANSWER_MS_MAX }: ControlRequest,
): Promise<Answer> {
  const response = await fetch(`${url}/_emulator${path}`, {
    method,
    // An emulator never redirects; what does is not an emulator.
    redirect: 'error',
    signal: AbortSignal.timeout(msMax),
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  }).catch((cause: unknown) => {
    throw new EmulatorUnreachable(`No emulator answers at ${url}.`, { cause })
  })
  const answer = (await response.json().catch(() => undefined)) as
    | (Answer & { error?: { type: string; message: string } })
    | undefined
  if (response.ok && answer) return answer
  const { status } = response
  if (answer?.error) throw new EmulatorRefused(status, answer.error)
  throw new EmulatorUnreachable(`${url}/_emulator${path} answered ${status}, but not like an emulator.`, {
    status,
  })
}
