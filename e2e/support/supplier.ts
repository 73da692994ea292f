import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface SupplierAsk {
  readonly id: string
  readonly sku: string
  readonly qty: number
}

/** Somebody else's server that makes links: the same ones for the same request id, as the protocol demands. */
export interface Supplier {
  readonly url: string
  /** Every request that came in, repeated ones too. */
  readonly asked: readonly SupplierAsk[]
  /** Requests that come in from now on stay without an answer, or get one again. */
  hang(isHanging: boolean): void
  /** Answers what hangs, and what comes from now on. */
  release(): void
  close(): Promise<void>
}

export async function startSupplier(): Promise<Supplier> {
  const asked: SupplierAsk[] = []
  const hanging: { ask: SupplierAsk; response: ServerResponse }[] = []
  let isHanging = false
  const server = createServer(async (request, response) => {
    const ask = (await json(request)) as SupplierAsk
    asked.push(ask)
    if (isHanging) hanging.push({ ask, response })
    else give(ask, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/links`,
    asked,
    hang(yes) {
      isHanging = yes
    },
    release() {
      isHanging = false
      for (const { ask, response } of hanging.splice(0)) give(ask, response)
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function give({ id, qty }: SupplierAsk, response: ServerResponse): void {
  const links = Array.from({ length: qty }, (_, n) => `https://gift.example/supplier/${id}/${n}`)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ links }))
}
