import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A proxy with the defect that smuggling needs: it ends a message by Content-Length and lets the server end it by Transfer-Encoding. All callers
 * share one connection to the server, and the next answer on it is for the caller who has waited longest.
 */
export interface DesynchronisingProxy {
  readonly port: number
  stop(): Promise<void>
}

export async function startDesynchronisingProxy(serverPort: number): Promise<DesynchronisingProxy> {
  const waiting: Socket[] = []
  const sockets = new Set<Socket>()
  const upstream = connect(serverPort, '127.0.0.1')
  await once(upstream, 'connect')
  upstream.on('error', () => {})
  let received = ''
  upstream.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1')
    for (let end = messageEnd(received); end > 0; end = messageEnd(received)) {
      waiting.shift()?.write(received.slice(0, end), 'latin1')
      received = received.slice(end)
    }
  })
  const server = createServer((caller) => {
    sockets.add(caller)
    caller.on('error', () => {})
    caller.on('close', () => sockets.delete(caller))
    let sent = ''
    caller.on('data', (bytes: Buffer) => {
      sent += bytes.toString('latin1')
      for (let end = messageEnd(sent); end > 0; end = messageEnd(sent)) {
        const message = sent.slice(0, end)
        sent = sent.slice(end)
        waiting.push(caller)
        const isChunked = /\r\ntransfer-encoding:/i.test(message)
        const passed = isChunked ? message.replace(/\r\ncontent-length:[^\r]*/i, '') : message
        upstream.write(passed.replace('\r\n', `\r\nX-Forwarded-For: ${caller.remoteAddress}\r\n`), 'latin1')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      upstream.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Zero while the message is not complete. */
function messageEnd(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n') + 4
  if (headEnd < 4) return 0
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0)
  return text.length < headEnd + length ? 0 : headEnd + length
}
