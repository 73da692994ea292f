import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { webhookSignatureMatches } from '@shopwire/contract/signing'

export interface SupplierAsked {
  readonly id: string
  readonly sku: string
  readonly qty: number
  readonly isSigned: boolean
}

export interface SupplierAnswer {
  readonly status: number
  readonly body?: unknown
  /** Sends nothing at all. */
  readonly hangs?: boolean
}

/** A supplier on a real socket. It gives fresh links, the same ones for the same id, unless told to answer otherwise. */
export async function startSupplier(name: string) {
  const asked: SupplierAsked[] = []
  const given = new Map<string, string[]>()
  let secret = ''
  let answer: ((ask: SupplierAsked) => SupplierAnswer | Promise<SupplierAnswer>) | undefined

  async function read(request: IncomingMessage): Promise<SupplierAsked> {
    const body = await buffer(request)
    const { id, sku, qty } = JSON.parse(body.toString())
    const timestamp = String(request.headers['x-shopwire-timestamp'])
    const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300
    const isSigned = webhookSignatureMatches(
      secret,
      { timestamp, id: String(request.headers['x-shopwire-id']), body },
      request.headers['x-shopwire-signature'],
    )
    return { id, sku, qty, isSigned: isSigned && isFresh && request.headers['x-shopwire-id'] === id }
  }

  function give({ id, qty }: SupplierAsked): SupplierAnswer {
    const links =
      given.get(id) ?? Array.from({ length: qty }, (_, n) => `https://gift.example/${name}/${id}/${n}`)
    given.set(id, links)
    return { status: 200, body: { links } }
  }

  const server = createServer(async (request, response) => {
    const ask = await read(request)
    asked.push(ask)
    const { status, body, hangs } = await (answer ?? give)(ask)
    if (!hangs)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    name,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/links`,
    asked,
    /** Ids of the requests it has made links for, whether or not anybody heard. */
    sold: () => [...given.keys()],
    knows(shared: string) {
      secret = shared
    },
    answers(how: typeof answer) {
      answer = how
    },
    give,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
