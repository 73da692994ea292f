import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { webhookSignatureMatches } from '@shopwire/contract/signing'
import { startHttpServer } from './http-server.ts'

export interface SupplierAsk {
  readonly id: string
  readonly sku: string
  readonly qty: number
  /** Fresh, and signed with the secret that the supplier shares. */
  readonly isSigned: boolean
}

export interface SupplierAnswer {
  readonly status: number
  readonly body?: unknown
  /** Sends nothing at all. */
  readonly hangs?: boolean
}

type Answerer = (ask: SupplierAsk) => SupplierAnswer | Promise<SupplierAnswer>

export type Supplier = Awaited<ReturnType<typeof startSupplier>>

const FRESH_S_MAX = 300

/** A fake supplier: makes links, the same ones for the same request id, as the protocol demands. */
export async function startSupplier(name = 'supplier') {
  const asked: SupplierAsk[] = []
  const given = new Map<string, string[]>()
  const hanging: { ask: SupplierAsk; response: ServerResponse }[] = []
  let secret = ''
  let isHanging = false
  let answer: Answerer | undefined

  async function read(request: IncomingMessage): Promise<SupplierAsk> {
    const body = await buffer(request)
    const { id, sku, qty } = JSON.parse(body.toString())
    const timestamp = String(request.headers['x-shopwire-timestamp'])
    const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < FRESH_S_MAX
    const isSigned = webhookSignatureMatches(
      secret,
      { timestamp, id: String(request.headers['x-shopwire-id']), body },
      request.headers['x-shopwire-signature'],
    )
    return { id, sku, qty, isSigned: isSigned && isFresh && request.headers['x-shopwire-id'] === id }
  }

  function give({ id, qty }: SupplierAsk): SupplierAnswer {
    const links =
      given.get(id) ?? Array.from({ length: qty }, (_, n) => `https://gift.example/${name}/${id}/${n}`)
    given.set(id, links)
    return { status: 200, body: { links } }
  }

  async function respond(ask: SupplierAsk, response: ServerResponse): Promise<void> {
    const { status, body, hangs } = await (answer ?? give)(ask)
    if (hangs) return
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  }

  const server = await startHttpServer(async (request, response) => {
    const ask = await read(request)
    asked.push(ask)
    if (isHanging) hanging.push({ ask, response })
    else await respond(ask, response)
  })
  return {
    name,
    url: `http://127.0.0.1:${server.port}/links`,
    /** Every request that came in, repeated ones too. */
    asked,
    /** Ids of the requests it has made links for, whether or not the answer arrived. */
    sold: () => [...given.keys()],
    /** Sets the secret that requests are signed with. */
    setSecret(shared: string) {
      secret = shared
    },
    /** How it answers from now on; undefined for as usual. */
    answers(how: Answerer | undefined) {
      answer = how
    },
    give,
    /** Requests that come in from now on stay without an answer, or get one again. */
    hang(yes: boolean) {
      isHanging = yes
    },
    /** Answers the requests that hang, and those that come from now on. */
    release() {
      isHanging = false
      for (const { ask, response } of hanging.splice(0)) void respond(ask, response)
    },
    close: server.close,
  }
}
