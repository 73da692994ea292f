import { existsSync, readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import {
  certificatesProblem,
  clusterUrlsProblem,
  sentinelUrlsProblem,
  singleUrlProblem,
} from '../access/redis-urls.ts'
import { type KekEntry, parseKekEntry } from '../platform/encryption/kek-providers.ts'
import { objectionToNetwork } from '../platform/outbound/outbound-networks.ts'
import { isServiceLink, OTHER_SETTINGS } from './other-settings.ts'
import { plaintextHosts, transportProblems } from './transport.ts'

/**
 * The only module that reads the environment. Every variable may be given as NAME_FILE instead, the path of a file that holds the
 * value, which is how container platforms mount secrets.
 */
export type Config = z.infer<typeof schema> & { readonly encryption: EncryptionKeys }

/** What the dashboard's process needs; it works without the application's login. */
export type DashboardConfig = Omit<Config, 'SHOPWIRE_DATABASE_URL'> & {
  readonly SHOPWIRE_DASHBOARD_ORIGIN: string
  readonly SHOPWIRE_DASHBOARD_DATABASE_URL: string
}

/** What the process needs that is API, worker and, where it has an origin, dashboard at once: a login for each. */
export type AllConfig = Config & { readonly SHOPWIRE_WORKER_DATABASE_URL: string }

export interface EncryptionKeys {
  readonly keys: ReadonlyMap<string, KekEntry>
  readonly activeId: string
}

/** Lists every problem at once, so that eight mistakes do not take eight starts. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} problem(s):\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    )
    this.problems = problems
  }
}

/** Public, because it is in this file: usable in development, refused in production. */
export const DEVELOPMENT_ENCRYPTION_KEY = `dev:${Buffer.from('shopwire development key, 32 byt').toString('base64')}`

const port = z.coerce.number().int().min(0).max(65_535)
const milliseconds = z.coerce.number().int().min(0).max(600_000)
const flag = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((value) => value === 'true')
const folder = z.string().refine(isAbsolute, 'must be the absolute path of a folder')
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')

const networkList = z
  .string()
  .transform((text) => text.split(',').map((network) => network.trim()))
  .superRefine((networks, context) => {
    for (const network of networks) {
      const objection = objectionToNetwork(network)
      if (objection !== undefined) context.addIssue({ code: 'custom', message: objection })
    }
  })
  .optional()

const redisUrls = z
  .string()
  .optional()
  .transform((text) => text?.split(',').map((url) => url.trim()))
  .pipe(
    z
      .array(z.string().regex(/^rediss?:\/\//, 'must be redis:// or rediss:// URLs, separated by commas'))
      .optional(),
  )

/** As OpenTelemetry writes them: `name=value` separated by commas, values URL-encoded. Undefined when it is anything else. */
function readHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const entry of text.split(',')) {
    const [, name, value] =
      /^\s*([A-Za-z0-9-]+)\s*=\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/.exec(entry) ?? []
    if (name === undefined || value === undefined) return undefined
    try {
      headers[name] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return headers
}

const schema = z.object({
  SHOPWIRE_ENV: z
    .enum(['production', 'development'])
    .default('production')
    .describe('production refuses well-known secrets'),
  SHOPWIRE_CELL: z
    .string()
    .regex(/^[a-z0-9]{1,16}$/, 'must be 1 to 16 lower-case letters or digits')
    .default('c1')
    .describe('the cell this installation serves; part of every key id it makes'),
  SHOPWIRE_HOST: z.string().default('0.0.0.0').describe('address the API listens on'),
  SHOPWIRE_PORT: port.default(8080).describe('port the API listens on'),
  SHOPWIRE_HEALTH_HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'address of /livez, /readyz and /metrics: this machine alone; 0.0.0.0 or a private address where probes or Prometheus come from elsewhere',
    ),
  SHOPWIRE_HEALTH_PORT: port.default(9090).describe('port of /livez, /readyz and /metrics; never public'),
  SHOPWIRE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('lowest level that is written'),
  SHOPWIRE_DATABASE_URL: postgresUrl.describe('PostgreSQL, with the login of this process'),
  SHOPWIRE_WORKER_DATABASE_URL: postgresUrl
    .optional()
    .describe(
      'PostgreSQL, with the login of the worker; only for API and worker in one process (`shopwire all`)',
    ),
  SHOPWIRE_DATABASE_OWNER_URL: postgresUrl
    .optional()
    .describe('PostgreSQL, as the owner of the tables; for migrations only'),
  SHOPWIRE_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(500)
    .default(10)
    .describe('connections per process, at most'),
  SHOPWIRE_DATABASE_CONNECT_MS: milliseconds
    .default(2_000)
    .describe('longest wait for a connection before the caller gets 503'),
  SHOPWIRE_DATABASE_STATEMENT_MS: milliseconds.default(5_000).describe('longest statement'),
  SHOPWIRE_DATABASE_LOCK_MS: milliseconds.default(2_000).describe('longest wait for a lock'),
  SHOPWIRE_DATABASE_NAMED_STATEMENTS: flag('true').describe('false behind a transaction-pooling proxy'),
  SHOPWIRE_BATCHING: z
    .enum(['adaptive', 'off', 'always'])
    .default('adaptive')
    .describe('whether requests that come at the same time share calls to the database; always is for tests'),
  SHOPWIRE_ADMISSION: z
    .enum(['postgres', 'redis', 'redis-cluster'])
    .default('postgres')
    .describe('where nonces and rate limits are kept'),
  SHOPWIRE_REDIS_URLS: redisUrls.describe(
    'one URL, or some nodes of the cluster separated by commas; with sentinels `rediss://user:password@name-of-the-master`',
  ),
  SHOPWIRE_REDIS_SENTINELS: redisUrls.describe(
    'for SHOPWIRE_ADMISSION=redis: URLs of the sentinels that know where the master is, separated by commas, with credentials of their own',
  ),
  SHOPWIRE_REDIS_CA: z
    .string()
    .optional()
    .describe(
      'authority of the certificates of Redis and its sentinels, in PEM, in place of the public ones; best as SHOPWIRE_REDIS_CA_FILE',
    ),
  SHOPWIRE_REDIS_CLIENT_CERT: z
    .string()
    .optional()
    .describe('certificate that Redis and its sentinels ask for, in PEM'),
  SHOPWIRE_REDIS_CLIENT_KEY: z.string().optional().describe('key of that certificate, in PEM'),
  SHOPWIRE_REDIS_TIMEOUT_MS: milliseconds
    .default(500)
    .describe('longest wait for Redis before the caller gets 503'),
  SHOPWIRE_PLAINTEXT_HOSTS: z
    .string()
    .default('')
    .transform(plaintextHosts)
    .refine(
      (hosts) => hosts.every((host) => /^[a-z0-9_.-]+$/.test(host) || isIPv6(host)),
      'must be host names or addresses without scheme and port, separated by commas',
    )
    .describe(
      'other machines that production may connect to without TLS, separated by commas: those on a network that nobody else can listen to',
    ),
  SHOPWIRE_ENCRYPTION_KEYS: z
    .string()
    .describe(
      'key-encryption keys, separated by commas: `id:base64` of 32 bytes, `id:file:/path` of a file with that, or `id:aws-kms:…` as `shopwire-admin encryption new-key` prints it',
    ),
  SHOPWIRE_ENCRYPTION_KEY_ACTIVE: z
    .string()
    .optional()
    .describe('id used for new values; the first one by default'),
  SHOPWIRE_REQUESTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000)
    .default(120)
    .describe('per account; the contract says 120'),
  SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000)
    .default(20)
    .describe('per account; the contract says 20'),
  SHOPWIRE_REQUESTS_IN_FLIGHT: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000_000)
    .default(1_000)
    .describe(
      'signed requests one API process works on at a time; one account may have as many as are free for all; more get 503',
    ),
  SHOPWIRE_DOCS_FOLDER: z
    .string()
    .optional()
    .describe(
      'folder of the built docs portal (npm run docs:build), served at /docs; without it /docs is not served',
    ),
  SHOPWIRE_DASHBOARD_ORIGIN: z
    .string()
    .refine((text) => URL.canParse(text) && new URL(text).origin === text, {
      error: 'must be a scheme, a host and perhaps a port, such as https://dashboard.example.com',
    })
    .optional()
    .describe('where people open the dashboard, exactly as their browser shows it; a host name of its own'),
  SHOPWIRE_DASHBOARD_HOST: z.string().default('0.0.0.0').describe('address the dashboard listens on'),
  SHOPWIRE_DASHBOARD_PORT: port.default(8081).describe('port the dashboard listens on'),
  SHOPWIRE_DASHBOARD_DATABASE_URL: postgresUrl
    .optional()
    .describe('PostgreSQL, with the login of the dashboard; for the dashboard only'),
  SHOPWIRE_API_URL: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:\/\/[^/?#@]+\/v1$/.test(text), {
      error: 'must be the base URL that callers use, such as https://api.example.com/v1',
    })
    .default('https://api.shop.example/v1')
    .describe('base URL of the API as callers use it, for the snippets of the dashboard'),
  SHOPWIRE_WEB_FOLDER: z
    .string()
    .optional()
    .describe('folder of the built application of the dashboard; web/dist beside the service by default'),
  SHOPWIRE_TRUSTED_PROXY_HOPS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'number of trusted reverse proxies in front; the client address is taken from X-Forwarded-For accordingly',
    ),
  SHOPWIRE_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(1_000)
    .describe('open sockets per client address; 0 for no limit, as behind a proxy'),
  SHOPWIRE_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'open sockets per API or dashboard process, from all addresses together; the last tenth is not for the address that has the most',
    ),
  SHOPWIRE_WORKER_ORDERS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(8)
    .describe('orders one worker process fulfils at a time'),
  SHOPWIRE_WORKER_ENDPOINTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(256)
    .describe('webhook endpoints one worker process delivers to at a time; half of them may be failing ones'),
  SHOPWIRE_EVENT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(2)
    .max(36_500)
    .default(90)
    .describe('how long webhook events and their delivery log are kept'),
  SHOPWIRE_LINK_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(0)
    .describe(
      'how long links are kept after the delivery of their order, at least as long as events; 0 keeps them for ever',
    ),
  SHOPWIRE_EVIDENCE_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(30)
    .max(36_500)
    .default(400)
    .describe('how long attempts to buy and reads of links are kept as evidence for disputes'),
  SHOPWIRE_JOURNAL: folder
    .optional()
    .describe(
      'for workers and shopwire-admin: folder of the journal of sold links, on another disk than the database; without it a restored store cannot know what it had sold',
    ),
  SHOPWIRE_JOURNAL_DAYS: z.coerce
    .number()
    .int()
    .min(2)
    .max(3_650)
    .default(35)
    .describe('how long the journal of sold links is kept; longer than the oldest backup you would restore'),
  SHOPWIRE_BACKUP_CONFIG: folder
    .default('/etc/shopwire/backup')
    .describe("for shopwire backup: folder of pgbackrest.conf and of the repository's passphrase"),
  SHOPWIRE_BACKUP_STATE: folder
    .default('/var/lib/shopwire-backup')
    .describe(
      'for shopwire backup and shopwire-admin backup status: folder in which the results are recorded',
    ),
  SHOPWIRE_BACKUP_SCRATCH: folder
    .optional()
    .describe('for shopwire backup: folder with room for a test restore; that of the results by default'),
  SHOPWIRE_BACKUP_METRICS: z
    .string()
    .refine((path) => isAbsolute(path) && path.endsWith('.prom'), 'must be the absolute path of a .prom file')
    .optional()
    .describe(
      'for shopwire backup: file that the textfile collector of node_exporter reads, such as /var/lib/prometheus/node-exporter/shopwire_backup.prom',
    ),
  SHOPWIRE_EGRESS_PROXY: z
    .string()
    .regex(
      /^https?:\/\/[^/?#]+\/?$/,
      'must be http://host:port or https://host:port, with user:password@ if needed',
    )
    .optional()
    .describe(
      'HTTP proxy (CONNECT) for webhooks and suppliers, including those in your own network; without it connections are direct',
    ),
  SHOPWIRE_OUTBOUND_DENY: networkList.describe(
    'networks that no webhook, supplier, payment provider or sign-in issuer is called in, such as `203.0.113.0/24,2001:db8::/32`',
  ),
  SHOPWIRE_OUTBOUND_ALLOW: networkList.describe(
    'the only networks that webhooks, suppliers, payment provider and sign-in issuer are called in; opens no private one for webhooks',
  ),
  SHOPWIRE_SMTP_URL: z
    .string()
    .regex(
      /^smtps?:\/\/[^/?#]+/,
      'must be smtp://host:port or smtps://host:port, with user:password@ if needed',
    )
    .optional()
    .describe('mail server, for the worker; without it mail waits in the database'),
  SHOPWIRE_MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, 'must be an address, such as Shopwire <store@example.com>')
    .optional()
    .describe('sender of all mail; required with SHOPWIRE_SMTP_URL'),
  SHOPWIRE_SESSION_IDLE_MINUTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_440)
    .default(30)
    .describe('a dashboard session ends after this time without a request'),
  SHOPWIRE_SESSION_HOURS: z.coerce
    .number()
    .int()
    .min(1)
    .max(168)
    .default(12)
    .describe('a dashboard session ends after this time, whatever is done in it'),
  SHOPWIRE_OIDC_ISSUER: z
    .string()
    .regex(/^https?:\/\//, 'must be the URL of an OpenID Connect issuer')
    .optional()
    .describe('OpenID Connect issuer of a company, for signing in to the dashboard; off without it'),
  SHOPWIRE_OIDC_CLIENT_ID: z.string().optional().describe('client id that the issuer gave to this dashboard'),
  SHOPWIRE_OIDC_CLIENT_SECRET: z.string().optional().describe('client secret that the issuer gave'),
  SHOPWIRE_OIDC_NAME: z
    .string()
    .max(60)
    .optional()
    .describe('name of the company on the button of the sign-in page'),
  SHOPWIRE_OIDC_EMAIL_DOMAINS: z
    .string()
    .transform((text) => text.split(',').map((domain) => domain.trim().toLowerCase()))
    .refine(
      (domains) => domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)),
      'must be domains such as "example.com,example.org"',
    )
    .optional()
    .describe('domains of the company: its issuer is believed about addresses there, and about no others'),
  SHOPWIRE_BANK_DETAILS: z
    .string()
    .transform((text) => text.split(';').map((line) => line.split('=').map((part) => part.trim())))
    .refine(
      (lines) => lines.every(({ length, 0: label, 1: value }) => length === 2 && label && value),
      'must be lines such as "Beneficiary=Example Ltd; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22"',
    )
    .transform((lines) => lines.map(([label = '', value = '']) => ({ label, value })))
    .optional()
    .describe(
      'where customers transfer money to, as "label=value" separated by semicolons; without it the dashboard offers no bank transfer',
    ),
  SHOPWIRE_STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_(live|test)_[A-Za-z0-9]+$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .describe(
      'for dashboard and worker: takes card payments by Stripe Checkout; without it the dashboard offers none',
    ),
  SHOPWIRE_STRIPE_WEBHOOK_SECRETS: z
    .string()
    .transform((text) => text.split(',').map((secret) => secret.trim()))
    .pipe(
      z.array(z.string().regex(/^whsec_.{8,}$/, 'must be signing secrets (whsec_…), separated by commas')),
    )
    .optional()
    .describe(
      'of the Stripe endpoint at `/payments/stripe` of the dashboard; several while one replaces another',
    ),
  SHOPWIRE_STRIPE_API_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Stripe itself by default; another server for tests'),
  SHOPWIRE_TOP_UP_MIN_CENTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000_00)
    .default(50_00)
    .describe('smallest top-up that the dashboard accepts'),
  SHOPWIRE_TOP_UP_MAX_CENTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000_00)
    .default(100_000_00)
    .describe('largest top-up that the dashboard accepts; a card takes at most 999,999.99'),
  SHOPWIRE_FUNDING_CONTACT: z
    .string()
    .max(200)
    .optional()
    .describe('whom customers ask about adding funds, such as billing@example.com; shown in the dashboard'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .regex(
      /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/,
      'must be http://host:port or https://host:port, perhaps with a path',
    )
    .optional()
    .describe(
      'OpenTelemetry collector that takes OTLP over HTTP (JSON), such as `http://127.0.0.1:4318`; without it there are no traces',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .transform(readHeaders)
    .refine(
      (headers) => headers !== undefined,
      'must be "name=value", separated by commas; values URL-encoded',
    )
    .optional()
    .describe(
      'sent to the collector with all traces, as name=value separated by commas; for its credentials',
    ),
  OTEL_SERVICE_NAME: z
    .string()
    .max(100)
    .optional()
    .describe('name of this process in traces; shopwire-api, shopwire-worker and so on by default'),
  SHOPWIRE_TRACE_RATIO: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('share of requests whose traces are recorded; the same for all processes'),
  SHOPWIRE_ACTOR: z
    .string()
    .optional()
    .describe(
      'name in the audit log for shopwire-admin when --actor is not given, where SHOPWIRE_OPERATOR_IDENTITY is machine; required as root or with a user id without a name',
    ),
  SHOPWIRE_OPERATOR_IDENTITY: z
    .enum(['required', 'platform', 'machine'])
    .optional()
    .describe(
      'who may change something by shopwire-admin: whoever has an operator token (required), also whom SHOPWIRE_OPERATOR names (platform), or any user of the machine (machine); required in production and machine in development by default',
    ),
  SHOPWIRE_OPERATOR_TOKEN: z
    .string()
    .optional()
    .describe(
      "for shopwire-admin: the token of the person who acts; belongs into that person's environment, never into the settings of the store",
    ),
  SHOPWIRE_OPERATOR: z
    .string()
    .optional()
    .describe(
      'for shopwire-admin: the person who acts, set by the platform that signed them in; only counts where SHOPWIRE_OPERATOR_IDENTITY is platform',
    ),
  SHOPWIRE_ALERTMANAGER_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('for shopwire-admin doctor: the Alertmanager that gets the alerts, to see whether it is ready'),
  SHOPWIRE_SHUTDOWN_DELAY_MS: milliseconds
    .default(5_000)
    .describe('time between /readyz reporting not ready and closing the port'),
  SHOPWIRE_SHUTDOWN_MS: milliseconds
    .default(30_000)
    .describe('longest time for an orderly stop; after it the process exits'),
})

const SECRETS = new Set([
  'SHOPWIRE_DATABASE_URL',
  'SHOPWIRE_WORKER_DATABASE_URL',
  'SHOPWIRE_DATABASE_OWNER_URL',
  'SHOPWIRE_DASHBOARD_DATABASE_URL',
  'SHOPWIRE_REDIS_URLS',
  'SHOPWIRE_REDIS_SENTINELS',
  'SHOPWIRE_REDIS_CLIENT_KEY',
  'SHOPWIRE_ENCRYPTION_KEYS',
  'SHOPWIRE_EGRESS_PROXY',
  'SHOPWIRE_SMTP_URL',
  'SHOPWIRE_OPERATOR_TOKEN',
  'SHOPWIRE_OIDC_CLIENT_SECRET',
  'SHOPWIRE_STRIPE_SECRET_KEY',
  'SHOPWIRE_STRIPE_WEBHOOK_SECRETS',
  'OTEL_EXPORTER_OTLP_HEADERS',
])
const UNCHECKED_TLS =
  'NODE_TLS_REJECT_UNAUTHORIZED is 0: this process would connect to any server, whatever its certificate. ' +
  'Remove it; to trust an authority of your own, set NODE_EXTRA_CA_CERTS to its file'
const KNOWN_PASSWORDS = new Set(['postgres', 'password', 'shopwire', 'secret', 'changeme', 'admin'])
const KEY_BYTES = 32
const TYPO_EDITS_MAX = 2

type Environment = Readonly<Record<string, string | undefined>>

export function loadConfig(env: Environment = process.env): Config {
  return load(env, schema)
}

export function loadDashboardConfig(env: Environment = process.env): DashboardConfig {
  const { SHOPWIRE_DASHBOARD_ORIGIN: origin, SHOPWIRE_DASHBOARD_DATABASE_URL: url } = schema.shape
  const required = {
    SHOPWIRE_DASHBOARD_ORIGIN: origin.unwrap(),
    SHOPWIRE_DASHBOARD_DATABASE_URL: url.unwrap(),
  }
  return load(env, schema.omit({ SHOPWIRE_DATABASE_URL: true }).extend(required))
}

export function loadAllConfig(env: Environment = process.env): AllConfig {
  const required = { SHOPWIRE_WORKER_DATABASE_URL: schema.shape.SHOPWIRE_WORKER_DATABASE_URL.unwrap() }
  return load(env, schema.extend(required), (given) => {
    if (isDevelopment(given)) return []
    const names = [
      'SHOPWIRE_DATABASE_URL',
      'SHOPWIRE_WORKER_DATABASE_URL',
      'SHOPWIRE_DASHBOARD_DATABASE_URL',
    ] as const
    const logins = names.map((name) => loginOf(given[name]))
    return names
      .filter((_, n) => logins[n] !== undefined && logins.indexOf(logins[n]) !== n)
      .map(
        (name) =>
          `${name}: signs in as ${loginOf(given[name])}, like another part of this process; production wants a login for each`,
      )
  })
}

const loginOf = (url: string | undefined) =>
  url !== undefined && URL.canParse(url) ? decodeURIComponent(new URL(url).username) : undefined

function load<Values extends object>(
  env: Environment,
  wanted: z.ZodType<Values>,
  objections: (given: Readonly<Record<string, string>>) => readonly string[] = () => [],
): Values & { readonly encryption: EncryptionKeys } {
  const problems: string[] = []
  const given = readVariables(env, Object.keys(schema.shape), problems)
  const parsed = wanted.safeParse(given)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) problems.push(describeIssue(issue, given))
  }
  const encryption = readEncryptionKeys(given, problems)
  checkTogether(given, problems)
  problems.push(...objections(given))
  if (isUncheckedTls(env) && !isDevelopment(given)) problems.push(UNCHECKED_TLS)
  if (!parsed.success || !encryption || problems.length > 0) throw new ConfigError(problems)
  return { ...parsed.data, encryption }
}

/**
 * The URL of the database to migrate, as its owner. It is the only required setting, so that migrations can run where there are
 * neither encryption keys nor the application's login. For read-only use the application's login is enough.
 */
export function loadSchemaUrl(purpose: 'migrate' | 'look', env: Environment = process.env): string {
  const names = {
    SHOPWIRE_ENV: true,
    SHOPWIRE_DATABASE_OWNER_URL: true,
    SHOPWIRE_DATABASE_URL: true,
    SHOPWIRE_PLAINTEXT_HOSTS: true,
  } as const
  const problems: string[] = []
  const given = readVariables(env, Object.keys(names), problems)
  if (purpose === 'migrate') delete given.SHOPWIRE_DATABASE_URL
  const parsed = schema.pick(names).partial().safeParse(given)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) problems.push(describeIssue(issue, given))
  }
  if (isUncheckedTls(env) && !isDevelopment(given)) problems.push(UNCHECKED_TLS)
  checkTogether(given, problems)
  const url = given.SHOPWIRE_DATABASE_OWNER_URL ?? given.SHOPWIRE_DATABASE_URL
  if (url === undefined) problems.push('SHOPWIRE_DATABASE_OWNER_URL is required to migrate')
  if (url === undefined || problems.length > 0) throw new ConfigError(problems)
  return url
}

/** For programs of others that we run: what this process was given, with their messages in English and their times in UTC. */
export function programEnvironment(): Environment {
  return { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
}

/** What "shopwire backup" needs: it runs where the database is, where neither encryption keys nor passwords have to be. */
export function loadBackupConfig(env: Environment = process.env) {
  const names = {
    SHOPWIRE_ENV: true,
    SHOPWIRE_BACKUP_CONFIG: true,
    SHOPWIRE_BACKUP_STATE: true,
    SHOPWIRE_BACKUP_SCRATCH: true,
    SHOPWIRE_BACKUP_METRICS: true,
  } as const
  const problems: string[] = []
  const given = readVariables(env, Object.keys(names), problems)
  const parsed = schema.pick(names).safeParse(given)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) problems.push(describeIssue(issue, given))
  }
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)
  return parsed.data
}

/** Problems that do not prevent a start: in development, those that production refuses. */
export function configWarnings(env: Environment = process.env): string[] {
  return isUncheckedTls(env) ? [UNCHECKED_TLS] : []
}

/** The files that hold a setting, in place of its variable. */
export function settingFiles(env: Environment = process.env): { name: string; path: string }[] {
  return Object.keys(schema.shape).flatMap((name) => {
    const path = env[`${name}_FILE`]
    return path === undefined ? [] : [{ name, path }]
  })
}

/** Every setting with secrets masked, for the start-up log line and the `config` command. */
export function describeConfig(config: Config | DashboardConfig): Record<string, string> {
  const values = config as unknown as Record<string, unknown>
  return Object.fromEntries(
    Object.keys(schema.shape).map((name) => {
      const value = values[name]
      if (value === undefined) return [name, '(not set)']
      if (SECRETS.has(name)) return [name, '(set, masked)']
      return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]
    }),
  )
}

export interface SettingDescription {
  readonly name: string
  readonly default: string
  readonly meaning: string
  readonly secret: boolean
  /** As JSON Schema: type, bounds, choices. */
  readonly accepts: Readonly<Record<string, unknown>>
}

/** Every setting: the source of docs/configuration.md, `.env.example` and the values that the Helm chart accepts. */
export function configReference(): SettingDescription[] {
  const properties = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {}
  return Object.keys(schema.shape).map((name) => {
    const {
      default: value,
      description = '',
      ...accepts
    } = properties[name] as { default?: unknown; description?: string }
    const fallback = value === undefined ? '' : String(value)
    return { name, default: fallback, meaning: description, secret: SECRETS.has(name), accepts }
  })
}

function readVariables(env: Environment, names: readonly string[], problems: string[]) {
  const given: Record<string, string> = {}
  for (const name of names) {
    const direct = env[name]
    const path = env[`${name}_FILE`]
    if (direct !== undefined && path !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set: keep one of them`)
    } else if (path !== undefined) {
      try {
        given[name] = readFileSync(path, 'utf8').trimEnd()
      } catch (error) {
        problems.push(
          `${name}_FILE cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
        )
      }
    } else if (direct !== undefined && direct !== '') {
      given[name] = direct
    }
  }
  problems.push(...unknownNames(env, (given.SHOPWIRE_ENV ?? 'production') === 'production'))
  return given
}

/**
 * A misspelt name would silently leave its setting at the default: no limit, no proxy, no TLS. Production refuses every unknown
 * name with our prefix; development, where other programs may use the prefix, only those that look like one of ours.
 */
function unknownNames(env: Environment, isProduction: boolean): string[] {
  return Object.keys(env).flatMap((name) => {
    const bare = name.replace(/_FILE$/, '')
    if (!name.startsWith('SHOPWIRE_') || bare in schema.shape || OTHER_SETTINGS.has(bare)) return []
    if (isServiceLink(name, env)) return []
    const meant = Object.keys(schema.shape).find((known) => editsBetween(bare, known) <= TYPO_EDITS_MAX)
    if (meant) return [`${name} is not a setting: did you mean ${meant}?`]
    if (!isProduction) return []
    return [`${name} is not a setting: correct or unset it ("shopwire-admin config --reference" lists all)`]
  })
}

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j += 1) {
      const change = (row[j] as number) + (letter === b[j] ? 0 : 1)
      next.push(Math.min(change, (row[j + 1] as number) + 1, (next[j] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

function describeIssue(issue: z.core.$ZodIssue, given: Record<string, string>): string {
  const name = String(issue.path[0])
  if (given[name] === undefined) return `${name} is required`
  const shown = SECRETS.has(name) ? '' : ` (is "${given[name]}")`
  const fromKubernetes = given[name]?.startsWith('tcp://') && name.endsWith('_PORT')
  const hint = fromKubernetes
    ? '; Kubernetes sets this for a Service named "shopwire": set enableServiceLinks: false for the pod, or rename the Service'
    : ''
  return `${name}: ${issue.message}${shown}${hint}`
}

function readEncryptionKeys(given: Record<string, string>, problems: string[]): EncryptionKeys | undefined {
  const entries = given.SHOPWIRE_ENCRYPTION_KEYS
  if (entries === undefined) return undefined
  const keys = new Map<string, KekEntry>()
  for (const [n, text] of entries.split(',').entries()) {
    const entry = parseKekEntry(text.trim())
    if ('problem' in entry) {
      problems.push(`SHOPWIRE_ENCRYPTION_KEYS: entry ${n + 1} ${entry.problem}`)
    } else if (keys.has(entry.id)) {
      problems.push(`SHOPWIRE_ENCRYPTION_KEYS: the id "${entry.id}" is used twice`)
    } else {
      keys.set(entry.id, entry)
    }
  }
  const activeId = given.SHOPWIRE_ENCRYPTION_KEY_ACTIVE ?? [...keys.keys()][0]
  if (activeId === undefined) return undefined
  if (!keys.has(activeId)) {
    problems.push(
      `SHOPWIRE_ENCRYPTION_KEY_ACTIVE: no key with the id "${activeId}" is in SHOPWIRE_ENCRYPTION_KEYS`,
    )
  }
  return { keys, activeId }
}

/** Node disables the check for this value only. */
function isUncheckedTls(env: Readonly<Record<string, string | undefined>>): boolean {
  return env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
}

function isDevelopment(given: Record<string, string>): boolean {
  return given.SHOPWIRE_ENV === 'development'
}

function checkTogether(given: Record<string, string>, problems: string[]) {
  if ((given.SHOPWIRE_ADMISSION ?? 'postgres') !== 'postgres' && given.SHOPWIRE_REDIS_URLS === undefined) {
    problems.push(`SHOPWIRE_REDIS_URLS is required when SHOPWIRE_ADMISSION is "${given.SHOPWIRE_ADMISSION}"`)
  }
  checkRedis(given, problems)
  if (given.SHOPWIRE_SMTP_URL !== undefined && given.SHOPWIRE_MAIL_FROM === undefined) {
    problems.push('SHOPWIRE_MAIL_FROM is required when SHOPWIRE_SMTP_URL is set')
  }
  checkOidc(given, problems)
  problems.push(...transportProblems(given, !isDevelopment(given)))
  const [events, links] = [given.SHOPWIRE_EVENT_RETENTION_DAYS ?? 90, given.SHOPWIRE_LINK_RETENTION_DAYS ?? 0]
  if (Number(links) !== 0 && Number(links) < Number(events))
    problems.push(
      `SHOPWIRE_LINK_RETENTION_DAYS: links cannot be erased after ${links} days while events, which carry them, are kept for ` +
        `${events}: set it to at least that, or SHOPWIRE_EVENT_RETENTION_DAYS to at most ${links}, or to 0 to keep links`,
    )
  const [least, most] = [given.SHOPWIRE_TOP_UP_MIN_CENTS, given.SHOPWIRE_TOP_UP_MAX_CENTS]
  if (Number(least ?? 50_00) > Number(most ?? 100_000_00))
    problems.push('SHOPWIRE_TOP_UP_MIN_CENTS is larger than SHOPWIRE_TOP_UP_MAX_CENTS: no top-up fits both')
  if (given.SHOPWIRE_STRIPE_WEBHOOK_SECRETS !== undefined && given.SHOPWIRE_STRIPE_SECRET_KEY === undefined)
    problems.push('SHOPWIRE_STRIPE_SECRET_KEY is required when SHOPWIRE_STRIPE_WEBHOOK_SECRETS is set')
  const docs = given.SHOPWIRE_DOCS_FOLDER
  if (docs !== undefined && !existsSync(join(docs, 'index.html'))) {
    problems.push(`SHOPWIRE_DOCS_FOLDER: no index.html in ${docs}; build the portal with npm run docs:build`)
  }
  const web = given.SHOPWIRE_WEB_FOLDER
  if (web !== undefined && !existsSync(join(web, 'index.html'))) {
    problems.push(
      `SHOPWIRE_WEB_FOLDER: no index.html in ${web}; build the application with npm run web:build`,
    )
  }
  if (isDevelopment(given)) return
  const origin = given.SHOPWIRE_DASHBOARD_ORIGIN
  if (origin !== undefined && !/^https:|^http:\/\/([^/]+\.)?localhost(:|$)/.test(origin)) {
    problems.push('SHOPWIRE_DASHBOARD_ORIGIN: must begin with https://; sessions are not sent unencrypted')
  }
  for (const name of [
    'SHOPWIRE_DATABASE_URL',
    'SHOPWIRE_WORKER_DATABASE_URL',
    'SHOPWIRE_DATABASE_OWNER_URL',
    'SHOPWIRE_DASHBOARD_DATABASE_URL',
  ]) {
    const url = given[name]
    if (url && URL.canParse(url) && KNOWN_PASSWORDS.has(decodeURIComponent(new URL(url).password))) {
      problems.push(`${name}: the password is a well-known one; production refuses it`)
    }
  }
  for (const entry of given.SHOPWIRE_ENCRYPTION_KEYS?.split(',') ?? []) {
    const key = Buffer.from(entry.trim().split(':')[1] ?? '', 'base64')
    const isDevelopmentKey = key.equals(Buffer.from(DEVELOPMENT_ENCRYPTION_KEY.split(':')[1] ?? '', 'base64'))
    if (isDevelopmentKey || (key.length === KEY_BYTES && new Set(key).size < 8)) {
      problems.push(
        'SHOPWIRE_ENCRYPTION_KEYS: holds the development key or one that is not random; production refuses it',
      )
    }
  }
}

function checkRedis(given: Record<string, string>, problems: string[]) {
  const { SHOPWIRE_REDIS_URLS: urls, SHOPWIRE_REDIS_SENTINELS: sentinels } = given
  const say = (name: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push(`${name}: ${problem}`)
  }
  const split = (text: string) => text.split(',').map((url) => url.trim())
  const isCluster = given.SHOPWIRE_ADMISSION === 'redis-cluster'
  if (urls !== undefined) {
    const hasSentinels = sentinels !== undefined
    say(
      'SHOPWIRE_REDIS_URLS',
      isCluster ? clusterUrlsProblem(split(urls)) : singleUrlProblem(split(urls), hasSentinels),
    )
  }
  if (sentinels !== undefined) {
    say('SHOPWIRE_REDIS_SENTINELS', sentinelUrlsProblem(split(sentinels)))
    if (isCluster)
      say('SHOPWIRE_REDIS_SENTINELS', 'a cluster has none; remove it, or set SHOPWIRE_ADMISSION=redis')
  }
  const { SHOPWIRE_REDIS_CA: ca, SHOPWIRE_REDIS_CLIENT_CERT: cert, SHOPWIRE_REDIS_CLIENT_KEY: key } = given
  say(
    'SHOPWIRE_REDIS_CA, SHOPWIRE_REDIS_CLIENT_CERT and SHOPWIRE_REDIS_CLIENT_KEY',
    certificatesProblem({ ca, cert, key }),
  )
}

/** All of them or none: a half-configured sign-in would be a button that fails. */
function checkOidc(given: Record<string, string>, problems: string[]) {
  const names = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'NAME', 'EMAIL_DOMAINS'].map(
    (name) => `SHOPWIRE_OIDC_${name}`,
  )
  const missing = names.filter((name) => given[name] === undefined)
  if (missing.length > 0 && missing.length < names.length) {
    problems.push(`${missing.join(' and ')} must be set too, or none of SHOPWIRE_OIDC_*`)
  }
  const issuer = given.SHOPWIRE_OIDC_ISSUER
  if (issuer?.startsWith('http://') && !isDevelopment(given)) {
    problems.push('SHOPWIRE_OIDC_ISSUER: must be an https:// URL; http:// is for development')
  }
}
