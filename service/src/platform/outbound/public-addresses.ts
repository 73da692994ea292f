import { connect } from 'node:tls'
import type { Log } from '../observability/log.ts'
import type { OutboundMetrics } from './outbound-metrics.ts'

/** The addresses at which callers and people reach the store. */
export type PublicAddresses = Readonly<Record<'api' | 'dashboard', string | undefined>>

interface Seen {
  readonly isReachable: boolean
  /** Undefined when no certificate was shown. */
  readonly expiresMs?: number
}

const HANDSHAKE_MS_MAX = 5_000

/**
 * Connects to the store's own public addresses as a caller does, and exposes when their certificates expire: otherwise callers are
 * the first to notice a proxy that fails to renew. Only for https, and not for names below `.example`, which never exist. Call it
 * about once a minute.
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

/** Reads whatever certificate is shown, even an expired one: that is the case to report. */
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
