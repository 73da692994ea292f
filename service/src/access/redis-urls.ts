import type { RedisOptions } from 'ioredis'

export interface ClusterAddress {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  /** For every node, including those that are learned from other nodes. */
  readonly shared: Pick<RedisOptions, 'username' | 'password' | 'tls'>
}

/** Why these URLs cannot name one cluster; undefined when they can. Never contains a URL, which may hold a password. */
export function clusterUrlsProblem(urls: readonly string[]): string | undefined {
  if (!urls.every(isReadable))
    return 'at least one is not a URL; percent-encode special characters in the password'
  const parsed = urls.map((url) => new URL(url))
  const [first] = parsed
  if (parsed.some(({ pathname }) => pathname !== '' && pathname !== '/' && pathname !== '/0')) {
    return 'a Redis Cluster has database 0 only; leave the database number out'
  }
  const isSame = (url: URL) =>
    url.protocol === first?.protocol && url.username === first.username && url.password === first.password
  if (!parsed.every(isSame)) {
    return 'all nodes of a cluster must have the same scheme (redis:// or rediss://), user name and password'
  }
  return undefined
}

export function readClusterUrls(urls: readonly string[]): ClusterAddress {
  const problem = clusterUrlsProblem(urls)
  if (problem !== undefined) throw new Error(`The Redis Cluster URLs cannot be used: ${problem}.`)
  const [{ protocol, username, password } = { protocol: '', username: '', password: '' }] = urls.map(
    (url) => new URL(url),
  )
  return {
    nodes: urls.map(toNode),
    shared: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  }
}

const DEFAULT_PORT = 6379

function toNode(url: string) {
  const { hostname, port } = new URL(url)
  // In a URL an IPv6 address is in brackets.
  return { host: hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port || DEFAULT_PORT) }
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
