import { isIP, type LookupFunction, type Socket, type TcpSocketConnectOpts } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { openTunnel, ProxyRefused } from './egress-proxy.ts'
import type { LookUp } from './name-lookup.ts'
import { checkedAddresses } from './public-address.ts'

export interface Destination {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** Who chose the host. */
  readonly owner: string
  readonly proxy?: URL | undefined
  /** Instead of the system's name servers. */
  readonly lookUp?: LookUp | undefined
}

/** An address that lets a SYN and its repetition go unanswered; the next one is tried then. */
const ADDRESS_MS_MAX = 2_000

/**
 * A TLS connection to a public address of the host, with the certificate of its name. The name is looked up once, and what was
 * checked is what is dialled. When the signal is aborted, the look-up and every socket end with it.
 */
export async function dialPublic(
  { host, port, owner, proxy, lookUp }: Destination,
  signal: AbortSignal,
  onAttempt: (address: string) => void,
): Promise<TLSSocket> {
  const addresses = await checkedAddresses(host, { owner, signal, ...(lookUp && { lookUp }) })
  const target: ConnectionOptions = {
    host,
    port,
    servername: isIP(host) ? '' : host,
    minVersion: 'TLSv1.2',
    // Otherwise NODE_TLS_REJECT_UNAUTHORIZED could switch the check off.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  }
  if (proxy) {
    const socket = await tunnelToFirst(addresses, (address) => {
      onAttempt(address)
      return openTunnel(proxy, address, port, signal)
    })
    return secured({ ...target, socket }, signal, onAttempt)
  }
  const answers = addresses.map((address) => ({ address, family: isIP(address) }))
  // Not at once: the socket would be on its way before anybody listens for the attempt.
  const lookup: LookupFunction = (_host, _options, callback) => process.nextTick(callback, null, answers)
  return secured(
    { ...target, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS_MAX },
    signal,
    onAttempt,
  )
}

/** The next address is for the case that the proxy cannot reach this one. */
async function tunnelToFirst(
  addresses: readonly string[],
  open: (address: string) => Promise<Socket>,
): Promise<Socket> {
  for (const address of addresses.slice(0, -1)) {
    try {
      return await open(address)
    } catch (error) {
      if (!(error instanceof ProxyRefused) || error.isByRule) throw error
    }
  }
  return open(addresses.at(-1) as string)
}

/** All that a socket takes; the types of TLS leave out some of it. */
type SocketOptions = ConnectionOptions &
  Pick<TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

function secured(
  options: SocketOptions,
  signal: AbortSignal,
  onAttempt: (address: string) => void,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      options.socket?.destroy()
      return reject(signal.reason)
    }
    const socket = connect(options)
    const abort = () => {
      socket.destroy()
      reject(signal.reason)
    }
    const settle = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    socket
      .setNoDelay(true)
      .on('connectionAttempt', onAttempt)
      .once('secureConnect', () => {
        settle()
        resolve(socket)
      })
      // Stays: until somebody else listens, an error would end the process.
      .on('error', (error) => {
        settle()
        reject(error)
      })
  })
}
