import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createAuthority } from '@shopwire/test-kit/servers'
import { composeEvent } from '../src/orders/fulfilment/compose-event.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import { createJobRunner } from '../src/platform/jobs/job-runner.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { guardedClients } from '../src/platform/outbound/guarded-client.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/endpoint.ts'
import type { Shop } from './shop.ts'

const ADDRESS = '93.184.216.34'

export interface Arrival {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: the test says what it should be
  readonly event: any
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>

/**
 * An HTTPS server with a trusted certificate, and a proxy through which its public address leads to it: the SSRF guard has no test
 * mode, and dials public addresses only.
 */
export async function startWebhookReceiver() {
  const authority = await createAuthority()
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authority.file, 'utf8')])
  const arrivals: Arrival[] = []
  let answer: (arrival: Arrival, response: ServerResponse) => void = (_arrival, response) => {
    response.writeHead(204).end()
  }
  const server = createHttpsServer(await authority.issue(`IP:${ADDRESS}`), async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const arrival = { headers: request.headers, body, event: JSON.parse(body) }
    arrivals.push(arrival)
    answer(arrival, response)
  })
  const proxy = createServer().on('connect', (_request, socket) => {
    const there = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      there.pipe(socket).pipe(there)
    })
    for (const one of [there, socket]) one.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  proxy.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(proxy, 'listening')])
  return {
    url: `https://${ADDRESS}/hooks/shopwire`,
    proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    arrivals,
    answers(how: typeof answer) {
      answer = how
    },
    async close() {
      for (const one of [proxy, server]) {
        one.closeAllConnections()
        one.close()
      }
      await authority.remove()
    },
  }
}

/** The part of a worker that delivers events, inside this process. */
export function startDeliveries(
  { database: { worker }, keyring, vault }: Shop,
  { proxyUrl }: Pick<WebhookReceiver, 'proxyUrl'>,
  clock: Clock = systemClock,
) {
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const runner = createJobRunner(worker, {
    queue: DELIVER_QUEUE,
    subjectName: 'endpoint_id',
    concurrency: 8,
    failingMax: 4,
    log,
    metrics,
    work: createDelivery({
      db: worker,
      keyring,
      clock,
      openClient: guardedClients(proxyUrl),
      compose: (event) => composeEvent(worker, vault, event),
      log,
      metrics,
      random: () => 0,
    }),
  })
  runner.start()
  return { stop: () => runner.stop(2_000) }
}
