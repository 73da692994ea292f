import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { createAuthority } from '@shopwire/test-kit/servers'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createPublicAddressWatch } from '../../../src/platform/outbound/public-addresses.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'

const DAY_S = 86_400
const EXPIRY = 'shopwire_certificate_expiry_timestamp_seconds'
const REACHABLE = 'shopwire_public_address_reachable'

test('the certificate of a public address is read, trusted or not; a server that is gone is unreachable', async () => {
  const authority = await createAuthority()
  const certificate = await authority.issue('DNS:localhost', { days: 3, isSelfSigned: true })
  await authority.remove()
  const server = createServer(certificate).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const metrics = createMetrics('test')
  const lines: string[] = []
  let isLeader = true
  const look = createPublicAddressWatch({
    addresses: { api: `https://localhost:${port}/v1`, dashboard: 'http://localhost:1' },
    log: createLog('info', { write: (line: string) => void lines.push(line) }),
    metrics,
    isLeader: () => isLeader,
  })
  const read = async (name: string) => {
    const text = await metrics.registry.getSingleMetricAsString(name)
    return [...text.matchAll(/address="(\w+)"\} (\S+)$/gm)].map(([, address, value]) => [
      address,
      Number(value),
    ])
  }

  await look()
  const [[address, expiresS] = []] = await read(EXPIRY)
  expect(address).toBe('api')
  expect(Number(expiresS) - Date.now() / 1_000).toBeGreaterThan(2.9 * DAY_S)
  expect(Number(expiresS) - Date.now() / 1_000).toBeLessThan(3.1 * DAY_S)
  expect(await read(REACHABLE)).toEqual([['api', 1]])
  expect(lines).toEqual([])

  server.close()
  await once(server, 'close')
  await look()
  expect(await read(REACHABLE)).toEqual([['api', 0]])
  expect(await read(EXPIRY)).toEqual([])
  expect(lines.join()).toContain('the public address could not be connected to')

  isLeader = false
  await look()
  expect(await read(REACHABLE)).toEqual([])
})

test('names that never exist, and addresses without TLS, are not looked at', async () => {
  const metrics = createMetrics('test')
  const look = createPublicAddressWatch({
    addresses: { api: 'https://api.shop.example/v1', dashboard: undefined },
    log: createLog('info', { write() {} }),
    metrics,
    isLeader: () => true,
  })
  await look()
  expect(await metrics.registry.getSingleMetricAsString(REACHABLE)).not.toContain('address=')
})
