import { type Relay, startRelay } from '@shopwire/test-kit/proxies/relay'

/** Connections to one server that fail while the server itself is well. */
export interface Wire {
  readonly port: number
  /** Nothing arrives any more, either way, and nobody is told; connections end when it is mended. */
  cut(): void
  mend(): void
  /** The next so many answers are lost with their connections. What was asked has been done. */
  loseAnswers(count: number): void
  close(): Promise<void>
}

export async function startWire(port: () => number): Promise<Wire> {
  let isCut = false
  let toLose = 0
  const relay: Relay = await startRelay(
    () => ({ port: port() }),
    ({ client, server, cut }) => ({
      fromClient(bytes) {
        if (!isCut) server.write(bytes)
      },
      fromServer(bytes) {
        if (isCut) return
        if (toLose === 0) return void client.write(bytes)
        toLose -= 1
        cut()
      },
    }),
  )
  return {
    port: relay.port,
    cut() {
      isCut = true
    },
    mend() {
      isCut = false
      relay.cut()
    },
    loseAnswers(count) {
      toLose = count
    },
    close: relay.close,
  }
}
