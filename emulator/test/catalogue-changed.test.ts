import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startEmulator } from '../src/index.ts'
import { clientOf, RING, RING_CENTS } from './support.ts'

test('a catalogue read on receipt of catalogue.changed returns the change', async () => {
  const read = Promise.withResolvers<number>()
  // The receiver reads before it answers the event, the earliest possible moment.
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (body.includes('catalogue.changed'))
      clientOf(emulator, emulator)
        .catalogue.get(RING)
        .then(({ price_cents }) => read.resolve(price_cents), read.reject)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const emulator = await startEmulator({ webhook: { url } })
  onTestFinished(() => emulator.stop())

  await emulator.control('POST', `/items/${RING}`, { price_cents: RING_CENTS + 50 })
  expect(await read.promise).toBe(RING_CENTS + 50)
})
