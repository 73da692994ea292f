import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection through the relay: two sockets, each of which ends with the other. */
export interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Ends both at once, whatever is still on its way. */
  cut(): void
}

/** Who gets the bytes of one side instead of the other side. */
export interface Interception {
  fromClient?(bytes: Buffer): void
  fromServer?(bytes: Buffer): void
}

export interface Relay {
  readonly port: number
  /** Cuts every connection; new ones are still taken. */
  cut(): void
  close(): Promise<void>
}

export interface Address {
  readonly host?: string
  readonly port: number
}

/**
 * A proxy between two programs that passes every byte on as it is, unless `intercept` says for a connection what happens to them.
 * `to` is asked for each connection.
 */
export async function startRelay(
  to: () => Address,
  intercept: (link: Link) => Interception = () => ({}),
): Promise<Relay> {
  const links = new Set<Link>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const link = join(client, dial(to()), intercept)
    links.add(link)
    client.once('close', () => links.delete(link))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const link of links) link.cut()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
}

export function dial({ host = '127.0.0.1', port }: Address): Socket {
  return connect({ host, port, allowHalfOpen: true, noDelay: true })
}

/** From now on each gets what the other sends. */
export function join(
  client: Socket,
  server: Socket,
  intercept: (link: Link) => Interception = () => ({}),
): Link {
  const cut = () => {
    client.destroy()
    server.destroy()
  }
  const link = { client, server, cut }
  const { fromClient, fromServer } = intercept(link)
  pass(client, server, fromClient)
  pass(server, client, fromServer)
  for (const socket of [client, server]) socket.on('error', cut)
  // What it has still to send, it sends.
  client.on('close', () => server.destroySoon())
  server.on('close', () => client.destroySoon())
  return link
}

function pass(from: Socket, to: Socket, intercepted?: (bytes: Buffer) => void): void {
  if (!intercepted) return void from.pipe(to)
  from.on('data', intercepted).on('end', () => to.end())
}
