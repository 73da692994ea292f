import { lookup } from 'node:dns/promises'
import { connect, isIP } from 'node:net'
import { connect as connectTls, type PeerCertificate } from 'node:tls'
import { printable } from '../terminal/paint.ts'
import { connectionReason } from '../trouble.ts'
import { type Finding, finding } from './finding.ts'

const CONNECT_MS_MAX = 5_000
const EXPIRES_SOON_DAYS = 14
const DAY_MS = 86_400_000

export async function checkDns(url: URL): Promise<Finding> {
  const host = hostOf(url)
  if (isIP(host)) return finding('DNS', 'ok', `${host} is an address; no name to look up`)
  try {
    const found = await lookup(host, { all: true })
    return finding('DNS', 'ok', `${host} is ${found.map(({ address }) => address).join(', ')}`)
  } catch (error) {
    const isUnknown = (error as NodeJS.ErrnoException).code === 'ENOTFOUND'
    return isUnknown
      ? finding(
          'DNS',
          'failed',
          `${host} does not exist`,
          'Check the base URL for typing mistakes, then the name server.',
        )
      : finding(
          'DNS',
          'failed',
          `${host} could not be looked up (${(error as NodeJS.ErrnoException).code})`,
          'Check the network and the name server of this machine.',
        )
  }
}

export function checkTcp(url: URL): Promise<Finding> {
  const where = `${url.hostname}:${portOf(url)}`
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const socket = connect({ host: hostOf(url), port: portOf(url), timeout: CONNECT_MS_MAX })
    const end = (result: Finding) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () =>
      end(finding('TCP', 'ok', `${where} in ${Math.round(performance.now() - startedMs)} ms`)),
    )
    socket.once('timeout', () =>
      end(
        finding(
          'TCP',
          'failed',
          `${where} does not answer`,
          `A firewall drops the packets, or the port is wrong.${proxyHint()}`,
        ),
      ),
    )
    socket.once('error', (error) =>
      end(
        finding(
          'TCP',
          'failed',
          `${where}: ${connectionReason(error) ?? error.message}`,
          `Check the port and that the store is running.${proxyHint()}`,
        ),
      ),
    )
  })
}

/** Reads the certificate even when it is not valid; sends nothing. */
export function checkTls(url: URL): Promise<Finding> {
  if (url.protocol === 'http:') return Promise.resolve(finding('TLS', 'skipped', 'the base URL is http://'))
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    return Promise.resolve(
      finding(
        'TLS',
        'failed',
        'NODE_TLS_REJECT_UNAUTHORIZED=0 disables certificate checks',
        'Unset it: otherwise anyone on the network path can read gift links.',
      ),
    )
  }
  const host = hostOf(url)
  return new Promise((resolve) => {
    const socket = connectTls({
      host,
      port: portOf(url),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
      timeout: CONNECT_MS_MAX,
    })
    const end = (result: Finding) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('secureConnect', () => {
      const error = socket.authorizationError as (Error & { code?: string }) | string | null
      const code =
        error === null || error === undefined
          ? undefined
          : typeof error === 'string'
            ? error
            : (error.code ?? error.message)
      end(certificateFinding(host, socket.getProtocol() ?? 'TLS', socket.getPeerCertificate(), code))
    })
    socket.once('timeout', () =>
      end(finding('TLS', 'failed', 'the handshake does not finish', 'Check that this port is for https.')),
    )
    socket.once('error', (error) =>
      end(
        finding(
          'TLS',
          'failed',
          connectionReason(error) ?? printable(error.message.trim()),
          isPlain(error)
            ? `If this store is an emulator, the base URL is http://${url.host}${url.pathname}. Otherwise the port is wrong.`
            : 'Check that this port is for https, and whether a proxy is in between.',
        ),
      ),
    )
  })
}

function isPlain(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ERR_SSL_WRONG_VERSION_NUMBER' || error.code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
}

function certificateFinding(
  host: string,
  protocol: string,
  certificate: PeerCertificate,
  problem: string | undefined,
): Finding {
  const until = Date.parse(certificate.valid_to)
  const days = Math.floor((until - Date.now()) / DAY_MS)
  const date = Number.isNaN(until) ? 'unknown' : new Date(until).toISOString().slice(0, 10)
  switch (problem) {
    case undefined:
      return days < EXPIRES_SOON_DAYS
        ? finding(
            'TLS',
            'warning',
            `${protocol}, the certificate expires in ${days} days (${date})`,
            'Tell the store.',
          )
        : finding('TLS', 'ok', `${protocol}, certificate for ${host} until ${date}`)
    case 'CERT_HAS_EXPIRED':
      return finding(
        'TLS',
        'failed',
        `the certificate expired ${date}`,
        'Tell the store; or the clock of this machine is wrong.',
      )
    case 'CERT_NOT_YET_VALID':
      return finding(
        'TLS',
        'failed',
        'the certificate is not valid yet',
        'The clock of this machine is probably wrong.',
      )
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return finding(
        'TLS',
        'failed',
        `the certificate is for ${certificate.subjectaltname ?? certificate.subject?.CN ?? 'another name'}, not for ${host}`,
        'Check the host in the base URL.',
      )
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return finding(
        'TLS',
        'failed',
        `the certificate is self-signed (${problem})`,
        "If it is your own or your company's: NODE_EXTRA_CA_CERTS=/path/to/ca.pem. Otherwise someone may be intercepting the connection.",
      )
    default:
      return finding(
        'TLS',
        'failed',
        `the certificate is not trusted (${problem})`,
        'If your company has a proxy: NODE_EXTRA_CA_CERTS=/path/to/ca.pem.',
      )
  }
}

function proxyHint(): string {
  const proxy = process.env.HTTPS_PROXY ?? process.env.https_proxy
  return proxy ? ' HTTPS_PROXY is set; Node uses it only with NODE_USE_ENV_PROXY=1.' : ''
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
}
