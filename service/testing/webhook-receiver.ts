import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type PublicReceiver, startPublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { composeEvent } from '../src/orders/fulfilment/compose-event.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import { createJobRunner } from '../src/platform/jobs/job-runner.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { guardedClients } from '../src/platform/outbound/guarded-client.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/deliver-queue.ts'
import type { Shop } from './shop.ts'

/** A receiver at a public address, which the clients of this process trust. */
export async function startWebhookReceiver(): Promise<PublicReceiver> {
  const receiver = await startPublicReceiver()
  const authority = readFileSync(receiver.settings.NODE_EXTRA_CA_CERTS, 'utf8')
  setDefaultCACertificates([...getCACertificates('default'), authority])
  return receiver
}

/** The part of a worker that delivers events, inside this process. */
export function startDeliveries(
  { database: { worker }, keyring, vault }: Shop,
  { settings }: Pick<PublicReceiver, 'settings'>,
  clock: Clock = systemClock,
) {
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const runner = createJobRunner(worker, {
    queue: DELIVER_QUEUE,
    subjectName: 'endpoint_id',
    concurrency: 8,
    failingMax: 4,
    log,
    metrics,
    work: createDelivery({
      db: worker,
      keyring,
      clock,
      openClient: guardedClients(settings.SHOPWIRE_EGRESS_PROXY),
      notify: async () => {},
      compose: (event) => composeEvent(worker, vault, event),
      log,
      metrics,
      random: () => 0,
    }),
  })
  runner.start()
  return { stop: () => runner.stop(2_000) }
}
