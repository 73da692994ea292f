import { connect } from 'node:tls'
import type { Log } from '../observability/log.ts'
import type { OutboundMetrics } from './outbound-metrics.ts'

/** How callers and people reach the store, by what it serves. */
export type PublicAddresses = Readonly<Record<'api' | 'dashboard', string | undefined>>

interface Seen {
  readonly isReachable: boolean
  /** Undefined when none was shown. */
  readonly expiresMs?: number
}

const HANDSHAKE_MS_MAX = 5_000

/**
 * Connects to the store's own public addresses as a caller does, and exposes when their certificates expire: a proxy that fails to renew
 * is otherwise noticed by the callers. Only for https, and not for names below `.example`, which never exist. To be called every minute or so.
 */
export function createPublicAddressWatch({
  addresses,
  log,
  metrics,
  isLeader,
}: {
  readonly addresses: PublicAddresses
  readonly log: Log
  readonly metrics: Pick<OutboundMetrics, 'certificateExpiry' | 'publicAddressReachable'>
  /** One worker reports for all. */
  isLeader(): boolean
}): () => Promise<void> {
  const watched = Object.entries(addresses).flatMap(([address, text]) => {
    const url = text === undefined ? undefined : new URL(text)
    return url?.protocol === 'https:' && !url.hostname.endsWith('.example') ? [{ address, url }] : []
  })
  const seen = new Map<string, Seen>()
  const shown = () => (isLeader() ? [...seen] : [])
  metrics.publicAddressReachable.from(() =>
    shown().map(([address, { isReachable }]) => [{ address }, isReachable ? 1 : 0] as const),
  )
  metrics.certificateExpiry.from(() =>
    shown().flatMap(([address, { expiresMs }]) =>
      expiresMs === undefined ? [] : [[{ address }, expiresMs / 1_000] as const],
    ),
  )

  return async () => {
    if (!isLeader()) return seen.clear()
    for (const { address, url } of watched) {
      try {
        seen.set(address, { isReachable: true, expiresMs: await readExpiry(url) })
      } catch (error) {
        seen.set(address, { isReachable: false })
        log.warn({ err: error, address }, 'the public address could not be connected to')
      }
    }
  }
}

/** Of whatever certificate is shown: an expired one is what this is about. */
function readExpiry({ hostname, port }: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({
      host,
      port: port === '' ? 443 : Number(port),
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      rejectUnauthorized: false,
      timeout: HANDSHAKE_MS_MAX,
    })
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${HANDSHAKE_MS_MAX} ms`)))
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to))
      socket.destroy()
    })
  })
}
