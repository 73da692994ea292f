import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Connection, ConnectionLost, connect } from './connection.ts'
import type { SignedRequest } from './signed-request.ts'

/** What one request of the load came to. */
export interface Outcome {
  readonly port: number
  readonly status: number
  /** The error type of a refusal; empty for an answer without one. */
  readonly type: string
  readonly sentMs: number
  readonly receivedMs: number
}

export interface Load {
  /** Grows while the load runs. */
  readonly outcomes: readonly Outcome[]
  /** Requests that were sent and never answered, because their connection ended. */
  lost(): number
  /** Lets every request under way come to its end. */
  stop(): Promise<readonly Outcome[]>
}

export interface LoadOptions {
  readonly ports: readonly number[]
  readonly connectionsPerPort: number
  /** A fresh one every time it is asked. */
  request(): SignedRequest
  /** How long a connection waits now before it sends again; not at all by default. */
  pauseMs?(): number
}

const RECONNECT_MS = 20

/**
 * Sends on every connection as fast as answers come back. A connection that is lost, or that the server asks to close, is
 * opened again at the next port.
 */
export function startLoad({ ports, connectionsPerPort, request, pauseMs = () => 0 }: LoadOptions): Load {
  const outcomes: Outcome[] = []
  let lost = 0
  let isRunning = true

  async function drive(first: number): Promise<void> {
    let at = first
    let connection: Connection | undefined
    while (isRunning) {
      const port = ports[at % ports.length] ?? 0
      const waitMs = pauseMs()
      if (waitMs > 0) await sleep(waitMs)
      try {
        connection ??= await connect(port)
        const answer = await connection.send(request().bytes)
        outcomes.push(outcomeOf(port, answer))
        if (answer.headers.connection !== 'close') continue
        connection.close()
        connection = undefined
        at += 1
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        if (error.wasSent) lost += 1
        connection = undefined
        at += 1
        await sleep(RECONNECT_MS)
      }
    }
    connection?.close()
  }

  const drivers = ports.flatMap((_, at) => Array.from({ length: connectionsPerPort }, () => drive(at)))
  return {
    outcomes,
    lost: () => lost,
    async stop() {
      isRunning = false
      await Promise.all(drivers)
      return outcomes
    },
  }
}

export function outcomeOf(port: number, { status, body, sentMs, receivedMs }: Answer): Outcome {
  return { port, status, type: body?.error?.type ?? '', sentMs, receivedMs }
}

/** How often each status and error type came, such as `{ '200': 12, '401 nonce_reused': 3 }`. */
export function tally(outcomes: readonly Pick<Outcome, 'status' | 'type'>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, type } of outcomes) {
    const name = `${status} ${type}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
