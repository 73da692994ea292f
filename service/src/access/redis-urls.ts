import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { RedisOptions } from 'ioredis'

/** The addresses of Redis and how to sign in there, from the settings. */
export interface RedisSettings {
  readonly urls: readonly string[]
  readonly isCluster: boolean
  /** With sentinels, the host of the single URL above is their name for the master. */
  readonly sentinels?: readonly string[] | undefined
  /** For every server and sentinel with a rediss:// URL. */
  readonly certificates?: RedisCertificates
}

/** In PEM. */
export interface RedisCertificates {
  /** Trusted in place of the public authorities. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface RedisServers {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  /** For every server, including those discovered from others. */
  readonly access: Pick<RedisOptions, 'username' | 'password' | 'tls' | 'db'>
}

const REDIS_PORT = 6379
export const SENTINEL_PORT = 26379

/** Why these URLs cannot name one cluster; undefined when they can. Never contains a URL, which may hold a password. */
export function clusterUrlsProblem(urls: readonly string[]): string | undefined {
  return severalUrlsProblem(
    urls,
    'nodes of a cluster',
    'a Redis Cluster has database 0 only; leave the database number out',
  )
}

/** Why this URL cannot name a server, or with sentinels a master. */
export function singleUrlProblem(urls: readonly string[], hasSentinels: boolean): string | undefined {
  const [url = ''] = urls
  if (!urls.every(isReadable)) return UNREADABLE
  if (new URL(url).search !== '') return WITH_PARAMETERS
  if (!/^(\/\d{0,5})?$/.test(new URL(url).pathname))
    return 'after the port comes at most the number of a database'
  if (!hasSentinels) return undefined
  if (urls.length > 1 || new URL(url).hostname === '') {
    return 'with sentinels it is one URL, whose host is the name of the master, such as rediss://user:password@mymaster'
  }
  return undefined
}

export function sentinelUrlsProblem(urls: readonly string[]): string | undefined {
  return severalUrlsProblem(urls, 'sentinels', 'sentinels have no databases; leave the number out')
}

export function certificatesProblem({ ca, cert, key }: RedisCertificates): string | undefined {
  if ((cert === undefined) !== (key === undefined))
    return 'a client certificate needs its key, and the key its certificate'
  try {
    // An authority that cannot be read would be ignored.
    if (ca) new X509Certificate(ca)
    createSecureContext({ ...(cert && { cert }), ...(key && { key }) })
    return undefined
  } catch (error) {
    return `the authority, the client certificate or its key is not usable PEM (${(error as NodeJS.ErrnoException).code})`
  }
}

/** All URLs have the same scheme and credentials; the `*Problem` functions have checked that. */
export function readRedisUrls(
  urls: readonly string[],
  certificates: RedisCertificates = {},
  defaultPort = REDIS_PORT,
): RedisServers {
  const [{ protocol, username, password, pathname } = NO_URL] = urls.map((url) => new URL(url))
  const { ca, cert, key } = certificates
  const db = Number(pathname.slice(1))
  return {
    nodes: urls.map((url) => toNode(url, defaultPort)),
    access: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && {
        tls: { rejectUnauthorized: true, ...(ca && { ca }), ...(cert && key && { cert, key }) },
      }),
      ...(db > 0 && { db }),
    },
  }
}

const NO_URL = { protocol: '', username: '', password: '', pathname: '' }
const UNREADABLE = 'at least one is not a URL; percent-encode special characters in the password'
const WITH_PARAMETERS = 'parameters after "?" are not used; remove them'

function severalUrlsProblem(urls: readonly string[], what: string, withDatabase: string): string | undefined {
  if (!urls.every(isReadable)) return UNREADABLE
  const parsed = urls.map((url) => new URL(url))
  const [first] = parsed
  if (parsed.some(({ search }) => search !== '')) return WITH_PARAMETERS
  if (parsed.some(({ pathname }) => pathname !== '' && pathname !== '/' && pathname !== '/0'))
    return withDatabase
  const isSame = (url: URL) =>
    url.protocol === first?.protocol && url.username === first.username && url.password === first.password
  if (!parsed.every(isSame)) {
    return `all ${what} must have the same scheme (redis:// or rediss://), user name and password`
  }
  return undefined
}

function toNode(url: string, defaultPort: number) {
  const { hostname, port } = new URL(url)
  // In a URL an IPv6 address is in brackets.
  return { host: hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port || defaultPort) }
}

function isReadable(url: string): boolean {
  try {
    const { username, password } = new URL(url)
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}
