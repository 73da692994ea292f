import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Durations } from '../../../src/platform/observability/durations.ts'
import type { ProcessKind } from '../../../src/platform/observability/metric-registry.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'

const seriesIn = (text: string, series: string) =>
  text.split('\n').find((line) => line.startsWith(`${series} `))

test('every counter and histogram with known labels is at zero in the first scrape', async () => {
  const text = await createMetrics('1.2.3').registry.metrics()
  for (const series of [
    'shopwire_order_requests_total{outcome="placed"}',
    'shopwire_order_requests_total{outcome="insufficient_funds"}',
    'shopwire_refunds_total{cause="operator"}',
    'shopwire_jobs_ended_total{queue="deliver",outcome="lease_lost"}',
    'shopwire_webhook_attempts_total{outcome="http_5xx"}',
    'shopwire_webhook_deliveries_total{outcome="given_up"}',
    'shopwire_auth_failures_total{reason="signature"}',
    'shopwire_orders_delivered_total',
    'shopwire_order_delivery_seconds_count',
    'shopwire_database_statement_duration_seconds_count{statement="place_order"}',
    'http_server_request_duration_seconds_count{method="POST",route="postOrders",status="503"}',
  ])
    expect(seriesIn(text, series), series).toBe(`${series} 0`)
  expect(text).toContain('shopwire_build_info{version="1.2.3"} 1')
})

test('a process exposes its own metrics and those it shares, and not those of other processes', async () => {
  const names = async (kind: ProcessKind) => {
    const { registry, reference } = createMetrics('test', [kind])
    const text = await registry.metrics()
    return { exposed: reference.filter(({ name }) => text.includes(`# TYPE ${name} `)), reference }
  }
  for (const kind of ['api', 'worker', 'dashboard'] as const) {
    const { exposed, reference } = await names(kind)
    expect(exposed).toEqual(reference.filter(({ processes }) => processes.includes(kind)))
  }
})

test('metrics are named as Prometheus expects, and each says what to do when it moves', async () => {
  for (const { name, type, help, action } of createMetrics('test').reference) {
    expect(name).toMatch(/^(shopwire|http_server)_[a-z_]+$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    if (type === 'histogram') expect(name).toMatch(/_seconds$/)
    expect(help, name).toMatch(/\.$/)
    expect(action, name).toMatch(/\.$/)
  }
})

test('every statement that is timed under a name of its own has a timer, so none is measured as "other" by mistake', () => {
  const files = globSync(`${import.meta.dirname}/../../../src/**/*.ts`)
  const labels = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\btimed\(\s*([^,:]+),/g)].map(([, label]) => label),
  )
  expect(labels).toContain('ORDER_STATEMENTS.placeOrder')
  const timers = Object.keys(createMetrics('test').statementTimers)
  for (const label of labels) {
    const [, name = ''] = /^[A-Z]+_STATEMENTS\.(\w+)$/.exec(label ?? '') ?? []
    expect(timers, label).toContain(name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  }
})

test('a gauge without a value has no series', async () => {
  const metrics = createMetrics('test')
  let offset: number | undefined
  metrics.databaseClockOffset.from(() => offset)
  const read = async () =>
    seriesIn(await metrics.registry.metrics(), 'shopwire_database_clock_offset_seconds')
  expect(await read()).toBeUndefined()
  offset = 600
  expect(await read()).toBe('shopwire_database_clock_offset_seconds 600')
  offset = undefined
  expect(await read()).toBeUndefined()
})

test('a histogram counts a value in the first bucket that is not below it, cumulatively', async () => {
  const durations = new Durations<'a'>({ name: 'x_seconds', help: 'x', buckets: [0.1, 1] })
  const timer = durations.labels({ a: 'b' })
  for (const seconds of [0.1, 0.5, 1, 2]) timer.observe(seconds)
  expect(durations.labels({ a: 'b' })).toBe(timer)
  const { values } = await durations.get()
  expect(values.map(({ metricName, labels, value }) => [metricName, { ...labels }, value])).toEqual([
    ['x_seconds_bucket', { le: '0.1', a: 'b' }, 1],
    ['x_seconds_bucket', { le: '1', a: 'b' }, 3],
    ['x_seconds_bucket', { le: '+Inf', a: 'b' }, 4],
    ['x_seconds_sum', { a: 'b' }, 3.6],
    ['x_seconds_count', { a: 'b' }, 4],
  ])
})
