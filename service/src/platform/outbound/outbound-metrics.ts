import { type MetricRegistry, WORKER } from '../observability/metric-registry.ts'

export type OutboundMetrics = ReturnType<typeof outboundMetrics>

export function outboundMetrics(registry: MetricRegistry) {
  return {
    mailGivenUp: registry.counter(WORKER, {
      name: 'shopwire_mail_given_up_total',
      help: 'Mails that will not be sent: refused by the mail server for good, tried too often, or damaged.',
      action: 'Read the lines "a mail … given up". Whoever waits for such a mail has to ask for it again.',
    }),
    mailOldestWaiting: registry.reading(WORKER, {
      name: 'shopwire_mail_oldest_waiting_seconds',
      help: 'Age of the oldest mail that is neither sent, nor given up, nor a dead letter; 0 when there is none.',
      action:
        'More than a few minutes: the mail server refuses or does not answer (the lines "job failed" of the queue "mail"), or none is set. Nobody can be invited or reset a password meanwhile.',
    }),
    certificateExpiry: registry.readings(WORKER, {
      name: 'shopwire_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of a public address expires, as one worker sees it; none for addresses without https.',
      action: 'Less than ten days ahead: the proxy in front of the store did not renew it. Read its log.',
      labels: { address: ['api', 'dashboard'] },
    }),
    publicAddressReachable: registry.readings(WORKER, {
      name: 'shopwire_public_address_reachable',
      help: '1 when a TLS connection to SHOPWIRE_API_URL or SHOPWIRE_DASHBOARD_ORIGIN could be made within the last minute, else 0.',
      action: 'Look at the proxy in front of the store and at DNS.',
      labels: { address: ['api', 'dashboard'] },
    }),
  }
}
