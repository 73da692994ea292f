import { startRelay } from '@shopwire/test-kit/proxies/relay'

/**
 * Between a proxy and the API: passes every byte on as it is, and keeps it. Each request that the proxy sends has the caller's address in
 * X-Forwarded-For, which the proxy adds; so more answers than such marks on one connection mean that the API read a request which
 * the proxy took for a part of another: a smuggled one.
 */
export interface UpstreamJournal {
  readonly port: number
  /** What was sent on a connection that carried a smuggled request, one text per connection. */
  smuggled(): string[]
  /** All that was sent to the API. */
  sent(): string
  stop(): Promise<void>
}

/** The address from which hostile callers connect; it is nowhere in what they send. */
export const HOSTILE_ADDRESS = '127.0.0.66'
const MARK = /^x-forwarded-for:[^\r\n]*127\.0\.0\.\d+\r?$/gim
const ANSWER = /HTTP\/1\.1 (?!100)\d{3} /g

export async function startUpstreamJournal(apiPort: number): Promise<UpstreamJournal> {
  const connections: { sent: string; received: string }[] = []
  const relay = await startRelay(
    () => ({ port: apiPort }),
    ({ client, server }) => {
      const kept = { sent: '', received: '' }
      connections.push(kept)
      return {
        fromClient(bytes) {
          kept.sent += bytes.toString('latin1')
          server.write(bytes)
        },
        fromServer(bytes) {
          kept.received += bytes.toString('latin1')
          client.write(bytes)
        },
      }
    },
  )
  return {
    port: relay.port,
    smuggled: () =>
      connections
        .filter(({ sent, received }) => count(received, ANSWER) > count(sent, MARK))
        .map(({ sent, received }) => `${sent}\n--- answered with ---\n${received}`),
    sent: () => connections.map(({ sent }) => sent).join('\n'),
    stop: relay.close,
  }
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
