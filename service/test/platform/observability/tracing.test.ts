import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/observability/log.ts'
import { openTelemetry } from '../../../src/platform/observability/open-telemetry.ts'
import { isRecorded, traceIdsOf } from '../../../src/platform/observability/tracing.ts'
import { newId } from '../../../src/platform/text/ids.ts'

const traces = Array.from(
  { length: 20_000 },
  () => traceIdsOf(newId('req', 1_794_708_483_144))?.trace_id ?? '',
)

test.each([0, 0.01, 0.25, 1])('a share of %d of the traces is recorded', (ratio) => {
  const share = traces.filter((trace_id) => isRecorded(trace_id, ratio)).length / traces.length
  expect(Math.abs(share - ratio)).toBeLessThan(0.015)
  if (ratio === 0 || ratio === 1) expect(share).toBe(ratio)
})

test('a process with a smaller ratio records a part of what one with a larger ratio records', () => {
  const few = traces.filter((trace_id) => isRecorded(trace_id, 0.05))
  expect(few.length).toBeGreaterThan(0)
  expect(few.every((trace_id) => isRecorded(trace_id, 0.2))).toBe(true)
})

test('a trace that is not recorded still has an id for log lines, and one of an order without a request has the id of the order', async () => {
  const options = {
    url: 'http://127.0.0.1:9/v1/traces',
    headers: {},
    service: { name: 'test', version: '0' },
  }
  const tracing = openTelemetry({ ...options, ratio: 0, log: createLog('silent') })
  const [request_id, order_id] = [newId('req', 0), newId('ord', 0)]
  const span = tracing.request(request_id, 'GET', {})
  const trace_id = traceIdsOf(request_id)?.trace_id
  expect(span.fields).toEqual({ trace_id, trace_flags: '00' })
  expect(span.child('below', 'internal').fields.trace_id).toBe(trace_id)
  expect(tracing.together([span, undefined], 'together', 'client', {})).toBeUndefined()
  const followed = tracing.follow({ subject_id: order_id }, 'fulfilment attempt', 'consumer', {})
  expect(followed.fields.trace_id).toBe(traceIdsOf(order_id)?.trace_id)
  await tracing.stop()
})
