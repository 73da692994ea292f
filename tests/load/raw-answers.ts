import { once } from 'node:events'
import { connect as open, type Socket } from 'node:net'
import { connect as openTls } from 'node:tls'

export interface Door {
  readonly port: number
  /** Undefined without TLS. */
  readonly ca?: string
}

export interface RawAnswers {
  readonly statuses: readonly number[]
  readonly text: string
  readonly wasClosed: boolean
}

/** Sends bytes that are no proper request, and reads until the other side closes or says nothing more. */
export async function sendRaw(
  { port, ca }: Door,
  bytes: Buffer,
  { localAddress, alpn, quietMs = 300 }: { localAddress?: string; alpn?: string; quietMs?: number } = {},
): Promise<RawAnswers> {
  const to = { port, host: '127.0.0.1', ...(localAddress && { localAddress }) }
  const socket: Socket = ca ? openTls({ ...to, ca, ...(alpn && { ALPNProtocols: [alpn] }) }) : open(to)
  let text = ''
  let wasClosed = true
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket.once(ca ? 'secureConnect' : 'connect', () => {
    socket.write(bytes)
    // A server that waits for the rest of a message sends nothing that could be awaited.
    socket.setTimeout(quietMs, () => {
      wasClosed = false
      socket.destroy()
    })
  })
  if (!socket.destroyed) await once(socket, 'close')
  const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
  return { statuses, text, wasClosed }
}
