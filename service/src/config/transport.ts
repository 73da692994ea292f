import { type DatabaseAddress, readDatabaseUrl } from '../platform/database/database-url.ts'
import { isLocalHost } from '../platform/process/local-host.ts'
import { DATABASE_URLS } from './areas/database.ts'
import type { Given } from './values.ts'

const REDIS = ['SHOPWIRE_REDIS_URLS', 'SHOPWIRE_REDIS_SENTINELS'] as const
const OVER_HTTP = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'SHOPWIRE_STRIPE_API_URL', 'SHOPWIRE_EGRESS_PROXY'] as const

/**
 * Why the servers in the settings cannot be connected to safely; empty when they can. Never contains a URL, which may hold a
 * password.
 */
export function transportProblems(given: Given, isProduction: boolean): string[] {
  const permitted = new Set(plaintextHosts(given.SHOPWIRE_PLAINTEXT_HOSTS))
  const refused = (host: string) => isProduction && !isLocalHost(host) && !permitted.has(host.toLowerCase())
  return [
    ...DATABASE_URLS.flatMap((name) => databaseProblems(name, given[name], refused)),
    ...REDIS.flatMap((name) => redisProblems(name, given[name], refused)),
    ...mailProblems(given.SHOPWIRE_SMTP_URL, refused),
    ...OVER_HTTP.flatMap((name) => httpProblems(name, given[name], refused)),
  ]
}

export function plaintextHosts(text = ''): string[] {
  return text
    .split(',')
    .map((host) => host.trim().toLowerCase())
    .filter((host) => host !== '')
}

/**
 * Whether a mail server must be reached by TLS. With smtp:// the connection starts unencrypted: without this the client would
 * continue unencrypted when the server, or somebody in between, does not offer STARTTLS.
 */
export function mustMailBeEncrypted(
  url: string,
  config: { readonly SHOPWIRE_ENV: string; readonly SHOPWIRE_PLAINTEXT_HOSTS: readonly string[] },
): boolean {
  const host = hostOf(url) ?? ''
  return (
    config.SHOPWIRE_ENV === 'production' &&
    !isLocalHost(host) &&
    !config.SHOPWIRE_PLAINTEXT_HOSTS.includes(host.toLowerCase())
  )
}

type IsRefused = (host: string) => boolean

function databaseProblems(name: string, url: string | undefined, isRefused: IsRefused): string[] {
  if (url === undefined || !/^postgres(ql)?:/.test(url)) return []
  let address: DatabaseAddress
  try {
    address = readDatabaseUrl(url)
  } catch (error) {
    return [`${name}: ${(error as Error).message}`]
  }
  const { host, sslmode, isChecked } = address
  // The driver currently treats "require" and "prefer" as verify-full, and will not always.
  if (!isRefused(host) || (sslmode === 'verify-full' && isChecked)) return []
  const found = sslmode === undefined ? 'the URL has no sslmode' : `its sslmode is ${sslmode}`
  return [
    `${name}: ${host} is another machine and ${found}. Production connects there only by TLS with a checked certificate: add ` +
      `?sslmode=verify-full, and &sslrootcert=/path/of/authority.pem for an authority of your own. ${unless(host)}`,
  ]
}

function redisProblems(name: string, urls: string | undefined, isRefused: IsRefused): string[] {
  const plain = (urls ?? '')
    .split(',')
    .flatMap((url) => (/^\s*redis:/.test(url) ? [hostOf(url.trim()) ?? ''] : []))
  return [...new Set(plain)]
    .filter(isRefused)
    .map(
      (host) =>
        `${name}: ${host} is another machine and redis:// is not encrypted: production connects there by rediss:// only. ${unless(host)}`,
    )
}

/** With smtp:// the mail client insists on STARTTLS (mustMailBeEncrypted), unless the URL says otherwise. */
function mailProblems(url: string | undefined, isRefused: IsRefused): string[] {
  const host = url === undefined ? undefined : hostOf(url)
  if (url === undefined || host === undefined || !isRefused(host)) return []
  const weakening = [...new URL(url).searchParams.keys()].filter((name) => /tls/i.test(name))
  if (weakening.length === 0) return []
  return [
    `SHOPWIRE_SMTP_URL: ${weakening.join(' and ')} could switch off TLS or its check to ${host}: remove the parameter. ${unless(host)}`,
  ]
}

function httpProblems(name: string, url: string | undefined, isRefused: IsRefused): string[] {
  const host = url === undefined ? undefined : hostOf(url)
  if (!url?.startsWith('http://') || host === undefined || !isRefused(host)) return []
  // Traffic through a proxy is encrypted end to end; the proxy's own password is not.
  if (name === 'SHOPWIRE_EGRESS_PROXY' && new URL(url).password === '') return []
  const sent = name === 'SHOPWIRE_EGRESS_PROXY' ? ', with a password' : ''
  return [
    `${name}: ${host} is another machine and http:// is not encrypted${sent}: production connects there by https:// only. ${unless(host)}`,
  ]
}

const unless = (host: string) =>
  `If it is reached over a network that nobody else can eavesdrop on, add ${host} to SHOPWIRE_PLAINTEXT_HOSTS`

function hostOf(url: string): string | undefined {
  // In a URL an IPv6 address is in brackets.
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, '$1') : undefined
}
