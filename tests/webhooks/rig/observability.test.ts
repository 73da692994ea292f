import { readMetric, untilMetric } from '@shopwire/test-kit/systems'
import { expect } from 'vitest'
import { test } from './rig.ts'

const SEEN_MS_MAX = 15_000
const GONE_MS_MAX = 30_000
const FAILING = 'shopwire_webhook_endpoints_failing'
const REFUSED = 'shopwire_webhook_attempts_total{outcome="http_5xx"}'

test('failing every webhook of one account shows within 15 s and is gone within 30 s of the repair', async ({
  rig,
  subscribe,
  annotate,
}) => {
  const customer = await subscribe('unwell.example.net', { port: 2200 })
  // Workers that earlier tests killed may count as alive for a moment; then this one exposes the figures.
  await untilMetric(rig.worker, FAILING, (value) => value !== undefined, GONE_MS_MAX)
  const [before, refused] = [
    Number(await readMetric(rig.worker.healthUrl, FAILING)),
    Number(await readMetric(rig.worker.healthUrl, REFUSED)),
  ]
  customer.receiver.answers(({ response }) => response.writeHead(500).end())
  await customer.sendTest()
  const seenMs = await untilMetric(rig.worker, FAILING, (value) => Number(value) > before, SEEN_MS_MAX)
  expect(await readMetric(rig.worker.healthUrl, REFUSED)).toBeGreaterThan(refused)
  const lines = rig.worker
    .logs()
    .split('\n')
    .filter((line) => line.includes(customer.account_id) && line.includes('"msg":"webhook attempt"'))
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 'info',
    event: 'test',
    attempt: 1,
    outcome: 'http_500',
    status: 500,
    next: 'retry',
    retry_in_s: expect.any(Number),
    duration_ms: expect.any(Number),
    delay_ms: expect.any(Number),
  })
  expect(lines.join()).not.toMatch(/unwell\.example\.net|whsec/)

  customer.receiver.answers(({ response }) => response.writeHead(204).end())
  await customer.makeDue()
  const goneMs = await untilMetric(rig.worker, FAILING, (value) => Number(value) <= before, GONE_MS_MAX)
  await customer.untilNothingPending()
  await annotate(`seen after ${seenMs} ms, gone after ${goneMs} ms`)
})

test('after all of that every rule holds', ({ rig }) => rig.expectAllHolds())
