import { ORDER_ATTEMPTS_PER_WINDOW_MAX, REQUESTS_PER_WINDOW_MAX } from '@shopwire/contract'
import type { Config } from '../../config/config.ts'
import { isPublicAddress } from '../../platform/outbound/public-address.ts'
import { isLocalHost } from '../../platform/process/local-host.ts'
import { type Check, failed, notApplicable, ok, warning } from './check.ts'

const NODE_MAJOR_MIN = 24
const EXAMPLE_API = 'https://api.shop.example/v1'

/** The settings themselves, without any connection. */
export const SETTING_CHECKS: readonly Check[] = [
  {
    id: 'settings',
    group: 'Settings',
    title: 'The settings have no mistakes',
    why: 'API and worker refuse to start with them, and a misspelt name leaves a limit, a proxy or TLS at its default.',
    fix: 'Correct the settings that are named; `shopwire-admin config --reference` lists all of them.',
    examine: ({ settingsProblems }) =>
      settingsProblems.length === 0 ? ok('all of them are valid') : failed(settingsProblems.join('; ')),
  },
  {
    id: 'environment',
    group: 'Settings',
    title: 'The store runs in production mode',
    why: 'Development accepts well-known passwords, the public encryption key and suppliers without TLS.',
    fix: 'Remove SHOPWIRE_ENV, or set SHOPWIRE_ENV=production.',
    examine(about) {
      const { SHOPWIRE_ENV: env } = about.config()
      return env === 'production' ? ok('production') : failed(`SHOPWIRE_ENV is ${env}`)
    },
  },
  {
    id: 'operator-identity',
    group: 'Settings',
    title: 'Operators are identified by name',
    why: 'Otherwise the audit log names a user of the machine, which in a container is the same for everybody, and anybody with a shell there can move money.',
    fix: 'Remove SHOPWIRE_OPERATOR_IDENTITY, and `shopwire-admin operators add` for each person and each scheduled job that changes something.',
    examine(about) {
      const { SHOPWIRE_OPERATOR_IDENTITY: kind = 'required' } = about.config()
      if (kind === 'machine') return warning('any user of this machine may change everything')
      return ok(kind === 'platform' ? 'by the platform or by token' : 'by token')
    },
  },
  {
    id: 'public-urls',
    group: 'Settings',
    title: 'Callers and people use https:// addresses of your own',
    why: 'Signatures protect a request from changes, not from eavesdropping: without TLS anybody on the path can read the links.',
    fix: 'SHOPWIRE_API_URL=https://api.example.com/v1 and SHOPWIRE_DASHBOARD_ORIGIN=https://dashboard.example.com, with your names.',
    examine(about) {
      const { SHOPWIRE_API_URL: api, SHOPWIRE_DASHBOARD_ORIGIN: dashboard } = about.config()
      const plain = [api, dashboard].filter((url) => url?.startsWith('http://'))
      if (plain.length > 0) return failed(`not encrypted: ${plain.join(' and ')}`)
      if (api === EXAMPLE_API)
        return warning(`SHOPWIRE_API_URL is not set; the dashboard shows ${EXAMPLE_API} to customers`)
      return ok([api, dashboard].filter((url) => url !== undefined).join(' and '))
    },
  },
  {
    id: 'proxy-hops',
    group: 'Settings',
    title: 'The number of proxies in front is set',
    why: 'Behind a proxy that is not counted every caller has the address of the proxy: in evidence for disputes, and for the limit of sockets per address.',
    fix: 'SHOPWIRE_TRUSTED_PROXY_HOPS=1 for one proxy, and SHOPWIRE_CONNECTIONS_PER_ADDRESS=0 behind it.',
    examine(about) {
      const { SHOPWIRE_API_URL, SHOPWIRE_TRUSTED_PROXY_HOPS: hops, ...config } = about.config()
      const perAddress = config.SHOPWIRE_CONNECTIONS_PER_ADDRESS
      if (!SHOPWIRE_API_URL.startsWith('https://'))
        return notApplicable('there is no TLS, so no proxy terminates it')
      if (hops === 0)
        return warning('SHOPWIRE_TRUSTED_PROXY_HOPS is 0, and only a proxy in front can terminate TLS')
      if (perAddress !== 0)
        return warning(
          `${hops} in front, and SHOPWIRE_CONNECTIONS_PER_ADDRESS is ${perAddress}: it counts the sockets of the proxy`,
        )
      return ok(`${hops} in front`)
    },
  },
  {
    id: 'rate-limits',
    group: 'Settings',
    title: 'The rate limits are those of the interface',
    why: 'Callers are built for the documented limits; far higher ones also let a leaked key spend more before it is revoked.',
    fix: 'Remove SHOPWIRE_REQUESTS_PER_MINUTE and SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE.',
    examine(about) {
      const { SHOPWIRE_REQUESTS_PER_MINUTE: requests, SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: orders } =
        about.config()
      const found = `${requests} requests and ${orders} orders a minute`
      if (requests === REQUESTS_PER_WINDOW_MAX && orders === ORDER_ATTEMPTS_PER_WINDOW_MAX) return ok(found)
      return warning(
        `${found}; the interface says ${REQUESTS_PER_WINDOW_MAX} and ${ORDER_ATTEMPTS_PER_WINDOW_MAX}`,
      )
    },
  },
  {
    id: 'shutdown-delay',
    group: 'Settings',
    title: 'A stopping process leaves the load balancer before its port closes',
    why: 'The proxy needs a moment to notice; until then it sends requests to a closed port, at every restart and upgrade.',
    fix: 'Remove SHOPWIRE_SHUTDOWN_DELAY_MS, or set SHOPWIRE_SHUTDOWN_DELAY_MS=5000.',
    examine(about) {
      const { SHOPWIRE_SHUTDOWN_DELAY_MS: delayMs } = about.config()
      const found = `SHOPWIRE_SHUTDOWN_DELAY_MS is ${delayMs}`
      if (delayMs === 0) return failed(found)
      return delayMs < NOTICED_MS ? warning(found) : ok(`${delayMs} ms`)
    },
  },
  {
    id: 'ports',
    group: 'Settings',
    title: 'Every server on this machine has a separate port',
    why: 'The second one does not start, or callers reach the wrong server.',
    fix: 'Different numbers in SHOPWIRE_PORT, SHOPWIRE_HEALTH_PORT and SHOPWIRE_DASHBOARD_PORT (8080, 9090 and 8081 by default), and none of PostgreSQL or Redis.',
    examine(about) {
      const ports = portsOf(about.config(), about.machine().isContainer)
      const taken = Map.groupBy(ports, ({ port }) => port)
      const twice = [...taken].filter(([, names]) => names.length > 1)
      if (twice.length === 0) return ok(ports.map(({ port }) => port).join(', '))
      return failed(
        twice
          .map(([port, names]) => `${names.map(({ name }) => name).join(' and ')} have port ${port}`)
          .join('; '),
      )
    },
  },
  {
    id: 'log-level',
    group: 'Settings',
    title: 'The processes write a log',
    why: 'The log line of a request, an attempt or a call is the first thing needed when something went wrong.',
    fix: 'Remove SHOPWIRE_LOG_LEVEL, or set SHOPWIRE_LOG_LEVEL=info.',
    examine(about) {
      const level = about.config().SHOPWIRE_LOG_LEVEL
      return level === 'info' || level === 'warn' ? ok(level) : warning(`the level is ${level}`)
    },
  },
  {
    id: 'payments',
    group: 'Settings',
    title: 'Card payments are real, and their events are verified',
    why: 'With a test key customers get balance for play money; without the secret of the endpoint payments wait for the slower poll.',
    fix: 'SHOPWIRE_STRIPE_SECRET_KEY with a live key, SHOPWIRE_STRIPE_WEBHOOK_SECRETS, and no SHOPWIRE_STRIPE_API_URL.',
    examine(about) {
      const config = about.config()
      const key = config.SHOPWIRE_STRIPE_SECRET_KEY
      if (key === undefined) return notApplicable('no card payments')
      if (/^.k_test_/.test(key)) return failed('the key of Stripe is a test key')
      if (config.SHOPWIRE_STRIPE_API_URL !== undefined)
        return failed('SHOPWIRE_STRIPE_API_URL sends payments to another server than Stripe')
      if (config.SHOPWIRE_STRIPE_WEBHOOK_SECRETS === undefined)
        return warning('SHOPWIRE_STRIPE_WEBHOOK_SECRETS is not set')
      return ok('a live key, and events are verified')
    },
  },
  {
    id: 'node-version',
    group: 'Machine',
    title: `Node is ${NODE_MAJOR_MIN} or newer`,
    why: 'The programs are TypeScript that only newer releases run without a build, and older ones get no security fixes.',
    fix: `Install Node ${NODE_MAJOR_MIN}, or use the image.`,
    examine(about) {
      const { node } = about.machine()
      return Number.parseInt(node, 10) >= NODE_MAJOR_MIN ? ok(node) : failed(`this is Node ${node}`)
    },
  },
  {
    id: 'not-root',
    group: 'Machine',
    title: 'The programs do not run as root',
    why: 'A vulnerability in a program or one of its dependencies would give access to the whole machine.',
    fix: 'A separate user: User=shopwire in the systemd unit, `user:` in compose, runAsNonRoot in Kubernetes.',
    examine: (about) =>
      about.machine().isRoot ? warning('this command runs as root') : ok('an ordinary user'),
  },
  {
    id: 'file-descriptors',
    group: 'Machine',
    title: 'A process may open as many files as it has sockets',
    why: 'At the limit new connections are refused, to callers, to the database and to receivers alike.',
    fix: 'LimitNOFILE=65536 in the systemd unit, `ulimits: nofile` in compose, `ulimit -n 65536` in a shell; or a lower SHOPWIRE_CONNECTIONS_MAX.',
    examine(about) {
      const { filesMax } = about.machine()
      if (filesMax === undefined) return notApplicable('this system does not report it')
      const config = about.config()
      const needed =
        config.SHOPWIRE_CONNECTIONS_MAX +
        config.SHOPWIRE_DATABASE_CONNECTIONS +
        config.SHOPWIRE_WORKER_ENDPOINTS * EVENTS_PER_ENDPOINT +
        OTHER_FILES
      const found = `${filesMax} files; all sockets that the settings allow need ${needed}`
      return filesMax >= needed ? ok(found) : failed(found)
    },
  },
  {
    id: 'core-dumps',
    group: 'Machine',
    title: 'A crash writes no core dump',
    why: 'It holds the memory of the process: encryption keys, API secrets and links, in a file that outlives it.',
    fix: 'LimitCORE=0 in the systemd unit, `ulimit -c 0` in a shell; the shopwire command of a release does so automatically. Where a program collects the dumps of the whole machine (`|` in /proc/sys/kernel/core_pattern), switch it off there too.',
    examine(about) {
      const { coreMax } = about.machine()
      if (coreMax === undefined) return notApplicable('this system does not report it')
      return coreMax === 0 ? ok('switched off') : warning('core dumps are on for this process')
    },
  },
  {
    id: 'metrics-not-public',
    group: 'Network',
    title: 'Metrics and health are not on a public address',
    why: 'They show how much the store sells, to whom it cannot deliver, and which parts fail.',
    fix: 'SHOPWIRE_HEALTH_HOST=127.0.0.1, or an address of the private network; and no firewall rule that lets port SHOPWIRE_HEALTH_PORT in.',
    examine(about) {
      const { SHOPWIRE_HEALTH_HOST: host, SHOPWIRE_HEALTH_PORT: port } = about.config()
      const addresses = publicAddressesOf(host, about.machine().publicAddresses)
      if (addresses.length === 0) return ok(`port ${port} on ${host}; not a public address of this machine`)
      return failed(`port ${port} is open on ${addresses.join(', ')}`)
    },
  },
  {
    id: 'outbound-networks',
    group: 'Network',
    title: 'The network lists let webhooks through',
    why: 'With an allow list only its networks are dialled, and webhooks only go to public ones: a list of private networks alone stops all of them.',
    fix: 'Add the public networks to SHOPWIRE_OUTBOUND_ALLOW, or remove it and list in SHOPWIRE_OUTBOUND_DENY what must not be called.',
    examine(about) {
      const { SHOPWIRE_OUTBOUND_ALLOW: allow, SHOPWIRE_OUTBOUND_DENY: deny } = about.config()
      const everything = deny?.find((network) => network.endsWith('/0'))
      if (everything) return failed(`SHOPWIRE_OUTBOUND_DENY has ${everything}: nothing is called`)
      if (allow && !allow.some(hasPublicAddresses))
        return failed(`SHOPWIRE_OUTBOUND_ALLOW has no public network: ${allow.join(', ')}`)
      if (!allow && !deny) return notApplicable('there are no lists')
      return ok(
        [allow && `only ${allow.join(', ')}`, deny && `not ${deny.join(', ')}`].filter(Boolean).join('; '),
      )
    },
  },
  {
    id: 'api-behind-tls',
    group: 'Network',
    title: 'The ports without TLS are not on a public address',
    why: 'The programs speak plain HTTP to the proxy that terminates TLS. On a public address callers could skip the proxy, and set X-Forwarded-For themselves.',
    fix: 'SHOPWIRE_HOST=127.0.0.1 and SHOPWIRE_DASHBOARD_HOST=127.0.0.1, or addresses of the network that the proxy is in.',
    examine(about) {
      const config = about.config()
      const { publicAddresses } = about.machine()
      const open = [config.SHOPWIRE_HOST, config.SHOPWIRE_DASHBOARD_HOST].flatMap((host) =>
        publicAddressesOf(host, publicAddresses),
      )
      if (open.length === 0) return ok('not a public address of this machine')
      return failed(`plain HTTP on ${[...new Set(open)].join(', ')}`)
    },
  },
]

/** Sockets, pipes and libraries that are open besides the counted ones. */
const OTHER_FILES = 200
/** As many events as a worker sends to one endpoint at a time. */
const EVENTS_PER_ENDPOINT = 4
/** The largest networks begin with addresses that are not public, but contain public ones. */
const LARGE_NETWORK_BITS = 7
const EVERY_ADDRESS = new Set(['0.0.0.0', '::', ''])

/** HAProxy, as configured in deploy/proxy/haproxy.cfg, after three checks. */
const NOTICED_MS = 2_000

function portsOf(config: Config, isContainer: boolean): { name: string; port: number }[] {
  const own = (['SHOPWIRE_PORT', 'SHOPWIRE_HEALTH_PORT'] as const).map((name) => ({
    name,
    port: config[name],
  }))
  const hasDashboard = config.SHOPWIRE_DASHBOARD_ORIGIN !== undefined && !isContainer
  const servers = [
    { name: 'PostgreSQL', url: config.SHOPWIRE_DATABASE_URL, usual: 5432 },
    { name: 'Redis', url: config.SHOPWIRE_REDIS_URLS?.[0], usual: 6379 },
  ].flatMap(({ name, url, usual }) => {
    if (url === undefined) return []
    const { hostname, port } = new URL(url)
    return hostname !== '' && isLocalHost(hostname) ? [{ name, port: Number(port || usual) }] : []
  })
  return [
    ...own,
    ...(hasDashboard ? [{ name: 'SHOPWIRE_DASHBOARD_PORT', port: config.SHOPWIRE_DASHBOARD_PORT }] : []),
    ...servers,
  ]
}

function publicAddressesOf(host: string, ofMachine: readonly string[]): string[] {
  if (EVERY_ADDRESS.has(host)) return [...ofMachine]
  return isLocalHost(host) || !isPublicAddress(host) ? [] : [host]
}

function hasPublicAddresses(network: string): boolean {
  const [address = '', bits = '128'] = network.split('/')
  return isPublicAddress(address) || Number(bits) <= LARGE_NETWORK_BITS
}
