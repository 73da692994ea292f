import { createServer, type Server } from 'node:http'
import type { MetricRegistry } from '../platform/observability/metric-registry.ts'

export interface Health {
  /** Why traffic should not be sent here, or undefined when it should. */
  notReady(): Promise<string | undefined>
  /**
   * A failure that affects every process alike, or undefined: a full disk, Redis down. If a proxy took all of them out of use, none
   * would be left to report it, or to do what still works.
   */
  degraded(): string | undefined
  /** What an operator should check although everything works: a provider that does not answer, a token that expires. */
  warnings(): readonly string[]
}

/** For orchestrators and load balancers, on a separate port. /livez never uses the database, /readyz does: 503 means another process is better. */
export function createHealthServer(
  { registry }: { readonly registry: MetricRegistry['exposed'] },
  health: Health,
): Server {
  const answers: Record<string, () => Promise<{ status: number; type: string; body: string }>> = {
    '/livez': async () => ({ status: 200, type: 'text/plain', body: 'ok\n' }),
    '/readyz': async () => {
      const notReady = await health.notReady()
      if (notReady !== undefined) return { status: 503, type: 'text/plain', body: `not ready: ${notReady}\n` }
      const degraded = health.degraded()
      const lines = [
        degraded === undefined ? 'ok' : `degraded: ${degraded}`,
        ...health.warnings().map((warning) => `warning: ${warning}`),
      ]
      return { status: 200, type: 'text/plain', body: `${lines.join('\n')}\n` }
    },
    '/metrics': async () => ({
      status: 200,
      type: registry.contentType,
      body: await registry.metrics(),
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
