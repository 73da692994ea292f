import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

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
  const sockets = new Set<Socket>()
  const server = createServer((proxy) => {
    const kept = { sent: '', received: '' }
    connections.push(kept)
    const api = connect(apiPort, '127.0.0.1')
    proxy.on('data', (bytes: Buffer) => {
      kept.sent += bytes.toString('latin1')
      api.write(bytes)
    })
    api.on('data', (bytes: Buffer) => {
      kept.received += bytes.toString('latin1')
      proxy.write(bytes)
    })
    proxy.on('end', () => api.end())
    api.on('end', () => proxy.end())
    for (const socket of [proxy, api]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        proxy.destroy()
        api.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    smuggled: () =>
      connections
        .filter(({ sent, received }) => count(received, ANSWER) > count(sent, MARK))
        .map(({ sent, received }) => `${sent}\n--- answered with ---\n${received}`),
    sent: () => connections.map(({ sent }) => sent).join('\n'),
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
