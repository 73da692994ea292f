import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy between a caller and the service that drops answers: the service has done the work, and the caller gets no answer. */
export interface CuttingProxy {
  readonly port: number
  /** The next so many answers are cut off before their first byte. */
  loseAnswers(count: number): void
  stop(): Promise<void>
}

export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let toLose = 0
  const server = createServer((caller) => {
    const service = connect(port, '127.0.0.1')
    const end = () => {
      caller.destroy()
      service.destroy()
    }
    for (const socket of [caller, service]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    caller.on('data', (bytes) => service.write(bytes))
    service.on('data', (bytes) => {
      if (toLose === 0) {
        caller.write(bytes)
        return
      }
      toLose--
      end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    loseAnswers(count) {
      toLose = count
    },
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
