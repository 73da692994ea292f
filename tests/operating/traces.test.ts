import { randomBytes } from 'node:crypto'
import { type ReceivedSpan, startCollector } from '@shopwire/test-kit/receivers/collector'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import {
  PUBLIC_ADDRESS,
  type PublicReceiver,
  startPublicReceiver,
} from '@shopwire/test-kit/receivers/webhook-receiver'
import { type Key, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import {
  type ApiProcess,
  limitless,
  newItem,
  newLinks,
  type ServerProcess,
  START_MS_MAX,
  type System,
  startApi,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

const CALLERS_TRACE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const SOON_MS = 60_000
const ANSWER_MS_MAX = 5_000
const COLLECTOR_KEY = 'collector-key-3f9a1c'
const LOADED = 'module loaded: '
/** Reports every file or package of OpenTelemetry that a process loads; in bundled programs it is one file. */
const REPORT_LOADED = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from 'node:module'
   registerHooks({ load(url, context, next) {
     if (/open-?telemetry/.test(url)) process.stderr.write('${LOADED}' + url + '\\n')
     return next(url, context)
   } })`,
)}`

let collector: Awaited<ReturnType<typeof startCollector>>
let receiver: PublicReceiver
let supplier: Awaited<ReturnType<typeof startSupplier>>
let system: System
let api: ApiProcess
let worker: WorkerProcess
const [pooled, made] = [newItem(100), newItem(200)]
const links = newLinks(20)

beforeAll(async () => {
  ;[collector, receiver, supplier] = await Promise.all([
    startCollector(),
    startPublicReceiver(),
    startSupplier(),
  ])
  system = await startSystem({
    admission: 'postgres',
    settings: {
      ...limitless,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${COLLECTOR_KEY}`,
      SHOPWIRE_BATCHING: 'always',
      ...receiver.settings,
      NODE_OPTIONS: `--import ${REPORT_LOADED}`,
    },
  })
  api = system.apis[0] as ApiProcess
  worker = await startWorker(system.settingsOf('worker'))
  await system.importItems([pooled, made])
  await system.loadPool(pooled.id, links)
  await system.admin('suppliers', 'create', 'maker', supplier.url)
  await system.admin('supply', 'set', made.id, '--source', 'supplier', '--supplier', 'maker')
}, START_MS_MAX)
afterAll(async () => {
  if (worker?.pid() !== undefined) await worker.kill('SIGKILL')
  await system?.stop()
  await Promise.all([collector?.close(), receiver?.close(), supplier?.close()])
})

test('one order is one trace, from the request through supplier and batch to both webhooks, and log lines have its id', async () => {
  const [buyer, other] = await Promise.all([openBuyer(), openBuyer()])
  const hook = (await (await call(api, buyer, 'POST', '/v1/webhook', { url: receiver.url })).json()) as {
    secret: string
  }
  const idempotency_key = `canary-${randomBytes(8).toString('hex')}`
  const items = [{ id: pooled.id }, { id: made.id }]
  const before = collector.spans.length
  const [answer, beside] = await Promise.all([
    call(api, buyer, 'POST', '/v1/orders', { idempotency_key, items }),
    call(api, other, 'POST', '/v1/orders', {
      idempotency_key: `${idempotency_key}-beside`,
      items: [{ id: pooled.id }],
    }),
  ])
  expect([answer.status, beside.status]).toEqual([201, 201])
  const { id: order_id } = (await answer.json()) as { id: string }
  const request_id = answer.headers.get('x-request-id') ?? ''
  await until(
    () => receiver.arrivals.length === 2,
    SOON_MS,
    () => 'two events did not arrive',
  )

  const line = await lineOf(api, request_id, 'request')
  const trace_id = String(line.trace_id)
  const mine = (name: string, more: (span: ReceivedSpan) => boolean = () => true) =>
    collector.find((span) => span.traceId === trace_id && span.name === name && more(span), name)
  const request = await mine('POST /v1/orders')
  const admission = await mine('admission')
  const statement = await mine('place_order')
  const fulfilment = await mine('fulfilment attempt')
  const asked = await mine('supplier call')
  const accepted = await mine(
    'webhook attempt',
    (span) => span.attributes['shopwire.event'] === 'order.accepted',
  )
  const delivered = await mine(
    'webhook attempt',
    (span) => span.attributes['shopwire.event'] === 'order.delivered',
  )

  expect(request).toMatchObject({
    service: 'shopwire-api',
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/orders',
      'http.response.status_code': 201,
      'shopwire.request_id': request_id,
      'shopwire.account_id': buyer.account_id,
    },
    // Another company's trace: noted, not continued.
    links: [CALLERS_TRACE],
  })
  expect(request.parentSpanId).toBeUndefined()
  for (const span of [admission, statement, fulfilment, accepted, delivered])
    expect(span.parentSpanId).toBe(request.spanId)
  expect(asked.parentSpanId).toBe(fulfilment.spanId)
  expect(fulfilment).toMatchObject({
    service: 'shopwire-worker',
    attributes: { 'shopwire.order_id': order_id, 'shopwire.outcome': 'delivered' },
  })
  expect(delivered.attributes).toMatchObject({
    'http.response.status_code': 204,
    'shopwire.order_id': order_id,
  })

  const batch = await collector.find(({ spanId }) => spanId === statement.links[0]?.spanId, 'of the batch')
  expect(batch.name).toBe('place_orders')
  expect(batch.traceId).not.toBe(trace_id)
  expect(batch.links).toContainEqual(expect.objectContaining({ traceId: trace_id, spanId: statement.spanId }))
  expect(batch.links).toHaveLength(Number(batch.attributes['db.operation.batch.size']))

  expect(line).toMatchObject({ request_id, trace_flags: '01' })
  for (const msg of ['fulfilment attempt', 'supplier call', 'webhook attempt'])
    expect(await lineOf(worker, order_id, msg)).toMatchObject({ trace_id, trace_flags: '01' })

  expect(collector.headers[0]?.authorization).toBe(`Bearer ${COLLECTOR_KEY}`)
  for (const { headers } of receiver.arrivals)
    expect(Object.keys(headers).join()).not.toMatch(/trace|baggage/)
  expect(collector.spans.slice(before).filter(({ isError }) => isError)).toEqual([])
  const canaries = [
    idempotency_key,
    buyer.key.secret,
    hook.secret,
    PUBLIC_ADDRESS,
    new URL(supplier.url).host,
    ...links,
  ]
  const headers = receiver.arrivals.flatMap((arrival) => Object.entries(arrival.headers))
  const signatures = headers.flatMap(([name, value]) => (name.includes('signature') ? [String(value)] : []))
  expect(signatures).toHaveLength(2)
  for (const canary of [...canaries, ...signatures, ...buyer.sent, 'gift.example'])
    expect(collector.sent()).not.toContain(canary)
})

test('what a caller without a valid signature sends does not get into a trace', async () => {
  const canary = randomBytes(8).toString('hex')
  const target = `/v1/orders/ord_${canary}?note=${canary}`
  const headers = { ...traceparent(), 'x-api-key': canary, 'user-agent': canary }
  const answers = await Promise.all([
    fetch(`${api.url}${target}`, { headers }),
    fetch(`${api.url}/${canary}`, { headers }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([401, 404])
  for (const { headers } of answers) {
    const request_id = headers.get('x-request-id')
    const span = await collector.find(
      ({ attributes }) => attributes['shopwire.request_id'] === request_id,
      `of ${request_id}`,
    )
    expect(['GET /v1/orders/{id}', 'GET']).toContain(span.name)
    expect(span).toMatchObject({ isError: false, links: [] })
  }
  expect(collector.sent()).not.toContain(canary)
})

test('a collector that fails or hangs costs one log line, delays nobody, and a process stops in time beside it', async () => {
  const failing = await startCollector()
  failing.answers((response) => void response.writeHead(400).end('{}'))
  const beside = await startApi({ ...system.settingsOf('api'), OTEL_EXPORTER_OTLP_ENDPOINT: failing.url })
  const buyer = await openBuyer()
  const read = async () => {
    const startedMs = performance.now()
    expect((await call(beside, buyer, 'GET', '/v1/balance')).status).toBe(200)
    return performance.now() - startedMs
  }
  const cannot = () => linesOf(beside, 'traces cannot be sent')
  const untilCalls = async (more: number) => {
    const wanted = failing.calls() + more
    await until(
      async () => {
        await read()
        return failing.calls() >= wanted
      },
      SOON_MS,
      () => 'the collector is not called',
    )
  }
  await untilCalls(3)
  expect(cannot()).toHaveLength(1)
  failing.answers((response) => void response.writeHead(200).end('{}'))
  await untilCalls(1)
  await until(
    () => linesOf(beside, 'traces are sent again').length === 1,
    SOON_MS,
    () => 'the end of the outage is not logged',
  )
  failing.answers(() => {})
  await untilCalls(1)
  expect(Math.max(await read(), await read(), await read())).toBeLessThan(ANSWER_MS_MAX)
  const stoppedMs = performance.now()
  expect(await beside.kill('SIGTERM')).toBe(0)
  expect(performance.now() - stoppedMs).toBeLessThan(2 * ANSWER_MS_MAX)
  await failing.close()
})

test('without a collector nothing of OpenTelemetry is loaded, nothing is sent, and log lines have no trace id', async () => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: _, ...without } = system.settingsOf('api')
  const connections = collector.connections()
  const one = await startApi(without)
  const { headers } = await call(one, await openBuyer(), 'GET', '/v1/balance')
  const line = await lineOf(one, headers.get('x-request-id') ?? '', 'request')
  await one.kill('SIGTERM')
  expect(line).not.toHaveProperty('trace_id')
  expect(linesOf(one, LOADED)).toEqual([])
  // The same report, where there is something to load.
  expect(linesOf(api, LOADED)).not.toEqual([])
  expect(collector.connections()).toBe(connections)
})

interface Buyer {
  readonly account_id: string
  readonly key: Key
  /** Nonces and signatures of its requests. */
  readonly sent: string[]
}

async function openBuyer(): Promise<Buyer> {
  return { ...(await system.createAccount({ balanceCents: 10_000 })), sent: [] }
}

async function call(to: ApiProcess, { key, sent }: Buyer, method: string, target: string, content?: object) {
  const body = content && JSON.stringify(content)
  const signed = signedHeaders(key, method, target, body)
  sent.push(
    ...Object.entries(signed).flatMap(([name, value]) => (/nonce|signature/i.test(name) ? [value] : [])),
  )
  return fetch(`${to.url}${target}`, {
    method,
    headers: { ...signed, ...traceparent(), 'content-type': 'application/json' },
    ...(body !== undefined && { body }),
  })
}

const traceparent = () => ({ traceparent: `00-${CALLERS_TRACE.traceId}-${CALLERS_TRACE.spanId}-01` })

const linesOf = (process: ServerProcess, text: string) =>
  process
    .logs()
    .split('\n')
    .filter((line) => line.includes(text))

function lineOf(process: ServerProcess, id: string, msg: string): Promise<Record<string, unknown>> {
  return until(
    () =>
      linesOf(process, id)
        .filter((line) => line.includes(`"msg":"${msg}"`))
        .map((line) => JSON.parse(line) as Record<string, unknown>)[0],
    SOON_MS,
    () => `no line "${msg}" about ${id}`,
  )
}
