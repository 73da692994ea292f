import { startConnectProxy } from '@shopwire/test-kit/proxies/connect-proxy'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { until } from '@shopwire/test-kit/servers'
import { startWorker } from '@shopwire/test-kit/systems'
import { expect } from 'vitest'
import { HERE, ITEM, SOON_MS, test } from './rig.ts'

const OWN_PORT = 2_900

test('with an egress proxy events arrive, and the proxy is asked only for addresses the SSRF guard has checked', async ({
  rig,
  subscribe,
  onTestFinished,
}) => {
  const proxy = await startConnectProxy()
  onTestFinished(() => proxy.close())
  await rig.worker.kill('SIGTERM')
  const behind = await startWorker({ ...rig.system.settingsOf('worker'), SHOPWIRE_EGRESS_PROXY: proxy.url })
  onTestFinished(async () => {
    await behind.kill('SIGTERM')
    await rig.worker.start()
  })

  // On a port of its own: events of the tests before may be due again meanwhile, and go through the proxy as well.
  const customer = await subscribe('proxied.example.net', { port: OWN_PORT })
  const own = `${HERE}:${OWN_PORT}`
  const askedForOwn = () => proxy.asked.filter((target) => target.endsWith(`:${OWN_PORT}`))
  await customer.sendTest()
  await until(
    () => customer.receiver.arrivals.length === 1,
    SOON_MS,
    () => 'the event does not arrive',
  )
  expect(customer.receiver.arrivals[0]).toMatchObject({ event: 'test', isGenuine: true })
  expect(askedForOwn()).toEqual([own])

  rig.dns.set('proxied.example.net', ['10.0.0.1'])
  await customer.untilNothingPending()
  // The connection is kept for a moment; after that the next event looks the name up again.
  await until(
    () => !proxy.open.has(own),
    SOON_MS,
    () => 'the connection is not closed',
  )
  await customer.sendTest()
  await customer.untilError('blocked')
  expect(askedForOwn()).toEqual([own])

  rig.dns.set('proxied.example.net', [HERE])
  proxy.close()
  await customer.makeDue()
  await customer.untilError('internal')
  await until(
    () => behind.logs().includes('the egress proxy cannot be used: ECONNREFUSED'),
    SOON_MS,
    () => 'the log does not say why',
  )
})

test('with an egress proxy suppliers are called through it too', async ({ rig, onTestFinished }) => {
  const [proxy, supplier] = await Promise.all([startConnectProxy(), startSupplier()])
  await rig.worker.kill('SIGTERM')
  const behind = await startWorker({ ...rig.system.settingsOf('worker'), SHOPWIRE_EGRESS_PROXY: proxy.url })
  onTestFinished(async () => {
    await rig.system.admin('supply', 'set', ITEM, '--source', 'hand')
    await behind.kill('SIGTERM')
    await rig.worker.start()
    proxy.close()
    await supplier.close()
  })
  await rig.system.admin('suppliers', 'create', 'proxied', supplier.url)
  await rig.system.admin('supply', 'set', ITEM, '--source', 'supplier', '--supplier', 'proxied')
  const { account_id, order } = await rig.openAccount()
  await rig.system.admin('accounts', 'fund', account_id, '1.00', '--reference', 'x')
  expect((await order({ items: [{ id: ITEM }], idempotency_key: 'rig-proxied-order' })).status).toBe(201)
  await until(
    () => supplier.asked.length > 0,
    SOON_MS,
    () => 'the supplier is not asked',
  )
  // Events of the tests before may be due again meanwhile, and go through it as well.
  expect(proxy.asked).toContain(new URL(supplier.url).host)
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())
