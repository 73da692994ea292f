import { createServer, type Server } from 'node:http'
import type { Metrics } from '../platform/metrics.ts'

export interface Health {
  /** Why traffic should not be sent here, or undefined when it should. */
  notReady(): Promise<string | undefined>
}

/** For orchestrators and load balancers, on a separate port. /livez never uses the database, /readyz does. */
export function createHealthServer(metrics: Metrics, health: Health): Server {
  const answers: Record<string, () => Promise<{ status: number; type: string; body: string }>> = {
    '/livez': async () => ({ status: 200, type: 'text/plain', body: 'ok\n' }),
    '/readyz': async () => {
      const why = await health.notReady()
      return why === undefined
        ? { status: 200, type: 'text/plain', body: 'ok\n' }
        : { status: 503, type: 'text/plain', body: `not ready: ${why}\n` }
    },
    '/metrics': async () => ({
      status: 200,
      type: metrics.registry.contentType,
      body: await metrics.registry.metrics(),
    }),
  }
  return createServer((request, response) => {
    const answer = answers[request.url ?? '']
    if (!answer) return void response.writeHead(404).end('not found: try /livez, /readyz or /metrics\n')
    answer().then(
      ({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(body),
      () => response.writeHead(500).end('failed\n'),
    )
  })
}
