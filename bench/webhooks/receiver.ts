import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'

/**
 * A receiver as a process of its own: node receiver.ts <folder with key.pem and cert.pem> <address> <port> <control port>.
 * The path says how it behaves. What came is asked for on the control port; asking begins a new count.
 */
const [folder = '', address = '', port = '', controlPort = ''] = process.argv.slice(2)
const DRIP_MS = 1_000
const LUMP = Buffer.alloc(65_536)

let received = 0
let firstMs = 0
let lastMs = 0
let waitsMs: number[] = []

const behaviours: Record<string, (response: ServerResponse) => void> = {
  '/ok': (response) => response.writeHead(204).end(),
  '/hang': () => {},
  '/drip': (response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write('x'), DRIP_MS)
    response.on('close', () => clearInterval(drip))
  },
  '/endless': (response) => {
    response.writeHead(200)
    const write = () => {
      while (!response.destroyed && response.write(LUMP));
    }
    response.on('drain', write)
    write()
  },
}

const tls = { key: readFileSync(`${folder}/key.pem`), cert: readFileSync(`${folder}/cert.pem`) }
createServer(tls, (request, response) => {
  request.resume().on('end', () => {
    const [path = ''] = (request.url ?? '').split('?')
    if (path === '/ok') count(request)
    behaviours[path]?.(response)
  })
})
  .on('tlsClientError', () => {})
  .listen(Number(port), address)

createHttpServer((_request, response) => {
  response.end(JSON.stringify({ received, firstMs, lastMs, waitsMs }))
  received = firstMs = lastMs = 0
  waitsMs = []
}).listen(Number(controlPort), '127.0.0.1')

/** The bench's event ids begin with the millisecond of the event. */
function count(request: IncomingMessage): void {
  const nowMs = Date.now()
  received += 1
  firstMs ||= nowMs
  lastMs = nowMs
  const [, madeMs] = /^evt_0*(\d{13})_/.exec(String(request.headers['x-webhook-id'])) ?? []
  if (madeMs) waitsMs.push(nowMs - Number(madeMs))
}
