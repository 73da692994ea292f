import type { Client } from 'undici'

/** What came back, and how long its parts took. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The first bytes of the body. */
  readonly start: Buffer
}

export interface Timing {
  /** When the request was handed to the network; undefined while there is no connection. */
  startedMs?: number
  sentMs?: number
}

const START_BYTES_MAX = 2_048

/**
 * Sends one POST. Once the status has arrived it is the result, whatever happens to the body: a receiver may cut off the body or
 * never end it. `timing` is filled in even when this rejects.
 */
export function timedPost(
  client: Client,
  request: {
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: Uint8Array
    readonly bodyBytesMax: number
  },
  timing: Timing,
  signal: AbortSignal,
): Promise<Answer> {
  const { path, headers, body, bodyBytesMax } = request
  return new Promise((resolve, reject) => {
    let answer: (Omit<Answer, 'start'> & { readonly kept: Buffer[] }) | undefined
    let bytes = 0
    // Before the request has started, the signal ends the attempt to connect, and that ends the request.
    let end = () => {}
    const abort = () => end()
    const finish = (error?: unknown) => {
      signal.removeEventListener('abort', abort)
      if (!answer) return reject(error)
      const start = Buffer.concat(answer.kept).subarray(0, START_BYTES_MAX)
      resolve({ status: answer.status, headers: answer.headers, start })
    }
    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    client.dispatch(
      { path, method: 'POST', headers, body },
      {
        onRequestStart(controller) {
          end = () => controller.abort(signal.reason ?? new Error('the answer is too long'))
          if (signal.aborted) return end()
          timing.startedMs = performance.now()
        },
        onRequestSent() {
          timing.sentMs = performance.now()
        },
        onResponseStart(_controller, status, answered) {
          // 1xx: the real answer follows.
          if (status >= 200) answer = { status, headers: answered, kept: [] }
        },
        onResponseData(_controller, chunk) {
          if (bytes < START_BYTES_MAX) answer?.kept.push(Buffer.from(chunk))
          bytes += chunk.length
          if (bytes <= bodyBytesMax) return
          finish()
          end()
        },
        onResponseEnd: () => finish(),
        onResponseError: (_controller, error) => finish(error),
      },
    )
  })
}
