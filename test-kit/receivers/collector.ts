import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { until } from '../servers/index.ts'
import { startHttpServer } from './http-server.ts'

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

const ARRIVES_MS_MAX = 60_000
const STATUS_ERROR = 2

/** A collector of traces: takes OTLP over HTTP, in JSON. */
export async function startCollector() {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const headers: IncomingHttpHeaders[] = []
  let connections = 0
  let answer = (response: ServerResponse) => void response.writeHead(200).end('{}')
  const server = await startHttpServer(
    async (request, response) => {
      const body = await text(request)
      headers.push(request.headers)
      bodies.push(body)
      if (request.url === '/v1/traces') spans.push(...readSpans(JSON.parse(body)))
      answer(response)
    },
    {
      onConnection() {
        connections += 1
      },
    },
  )
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    headers,
    /** Everything that was sent, as it was sent. */
    sent: () => bodies.join('\n'),
    calls: () => bodies.length,
    connections: () => connections,
    answers(how: typeof answer) {
      answer = how
    },
    find: (is: (span: ReceivedSpan) => boolean, wanted: string) =>
      until(
        () => spans.find(is),
        ARRIVES_MS_MAX,
        () => `no span ${wanted}; there are ${spans.map(({ name }) => name).join(', ')}`,
      ),
    close: () => server.close(),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as it came over the wire
function readSpans({ resourceSpans }: any): ReceivedSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    scopeSpans.flatMap(({ spans }: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above
      spans.map((span: any) => ({
        ...span,
        service: readAttributes(resource.attributes)['service.name'],
        isError: span.status?.code === STATUS_ERROR,
        attributes: readAttributes(span.attributes),
        links: span.links ?? [],
      })),
    ),
  )
}

function readAttributes(list: { key: string; value: Record<string, string | number | boolean> }[] = []) {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0] ?? '']))
}
