import { z } from 'zod'
import { type EncryptionKeys, readEncryptionKeys } from './areas/encryption.ts'
import { describeIssue, type Environment, readVariables } from './read-variables.ts'
import {
  type AllConfig,
  type Config,
  type DashboardConfig,
  isSecretSetting,
  problemsTogether,
  schema,
  settingNames,
} from './schema.ts'
import { type Given, isDevelopment } from './values.ts'

export { DEVELOPMENT_ENCRYPTION_KEY, type EncryptionKeys } from './areas/encryption.ts'
export type { AllConfig, Config, DashboardConfig } from './schema.ts'

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

const UNCHECKED_TLS =
  'NODE_TLS_REJECT_UNAUTHORIZED is 0: this process would connect to any server, whatever its certificate. ' +
  'Remove it; to trust an authority of your own, set NODE_EXTRA_CA_CERTS to its file'

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
  objections: (given: Given) => readonly string[] = () => [],
): Values & { readonly encryption: EncryptionKeys } {
  const problems: string[] = []
  const given = readVariables(env, settingNames, problems)
  const parsed = parse(wanted, given, problems)
  const encryption = readEncryptionKeys(given, problems)
  problems.push(...problemsTogether(given))
  problems.push(...objections(given))
  if (isUncheckedTls(env) && !isDevelopment(given)) problems.push(UNCHECKED_TLS)
  if (!parsed || !encryption || problems.length > 0) throw new ConfigError(problems)
  return { ...parsed, encryption }
}

/** Undefined when a single setting is invalid; the problems then say which. */
function parse<Values>(wanted: z.ZodType<Values>, given: Given, problems: string[]): Values | undefined {
  const { success, data, error } = wanted.safeParse(given)
  if (success) return data
  problems.push(...error.issues.map((issue) => describeIssue(issue, given)))
  return undefined
}

/**
 * The URL of the database to migrate, as its owner. It is the only required setting, so that migrations can run without the
 * encryption keys or the application's login. For read-only use the application's login is enough.
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
  parse(schema.pick(names).partial(), given, problems)
  if (isUncheckedTls(env) && !isDevelopment(given)) problems.push(UNCHECKED_TLS)
  problems.push(...problemsTogether(given))
  const url = given.SHOPWIRE_DATABASE_OWNER_URL ?? given.SHOPWIRE_DATABASE_URL
  if (url === undefined) problems.push('SHOPWIRE_DATABASE_OWNER_URL is required to migrate')
  if (url === undefined || problems.length > 0) throw new ConfigError(problems)
  return url
}

/** For other programs that this process starts: its environment, with messages in English and times in UTC. */
export function programEnvironment(): Environment {
  return { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
}

/** What "shopwire backup" needs: it runs next to the database, where neither encryption keys nor passwords have to be present. */
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
  const parsed = parse(schema.pick(names), given, problems)
  if (!parsed || problems.length > 0) throw new ConfigError(problems)
  return parsed
}

/** Problems that do not prevent a start: in development, those that production would refuse. */
export function configWarnings(env: Environment = process.env): string[] {
  return isUncheckedTls(env) ? [UNCHECKED_TLS] : []
}

/** The files that contain a setting, in place of its variable. */
export function settingFiles(env: Environment = process.env): { name: string; path: string }[] {
  return settingNames.flatMap((name) => {
    const path = env[`${name}_FILE`]
    return path === undefined ? [] : [{ name, path }]
  })
}

/** Every setting with secrets masked, for the start-up log line and the `config` command. */
export function describeConfig(config: Config | DashboardConfig): Record<string, string> {
  const values = config as unknown as Record<string, unknown>
  return Object.fromEntries(
    settingNames.map((name) => {
      const value = values[name]
      if (value === undefined) return [name, '(not set)']
      if (isSecretSetting(name)) return [name, '(set, masked)']
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
  return settingNames.map((name) => {
    const {
      default: value,
      description = '',
      ...accepts
    } = properties[name] as { default?: unknown; description?: string }
    const fallback = value === undefined ? '' : String(value)
    return { name, default: fallback, meaning: description, secret: isSecretSetting(name), accepts }
  })
}

/** Node disables the check for this value only. */
function isUncheckedTls(env: Environment): boolean {
  return env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
}
