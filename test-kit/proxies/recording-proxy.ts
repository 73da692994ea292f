import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** An egress proxy that lets connections to this machine pass, and refuses and counts all others. */
export interface RecordingProxy {
  readonly url: string
  /** Attempts to reach somebody outside this machine, such as the receiver of a webhook. */
  refused(): number
  close(): void
}

export async function startRecordingProxy(): Promise<RecordingProxy> {
  let refused = 0
  const sockets = new Set<Socket>()
  const server = createServer((_, response) => response.writeHead(501).end())
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.on('connect', (request, socket: Socket) => {
    const [host = '', port = ''] = (request.url ?? '').split(':')
    if (host !== '127.0.0.1') {
      refused += 1
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      through.pipe(socket)
      socket.pipe(through)
    })
    through.on('error', () => socket.destroy())
    through.on('close', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
