import { isLoopback } from '../store/loopback.ts'
import { CliError, EXIT, UsageError } from '../trouble.ts'
import { readProfiles } from './profile-file.ts'

/** Key, secret and address, and their source. All three always come from the same source. */
export interface Credentials {
  /** `profile live`, or `environment`. */
  readonly source: string
  readonly baseUrl: string
  readonly keyId: string
  readonly secret: string
  readonly emulatorUrl?: string | undefined
}

const VARIABLES = ['SHOPWIRE_BASE_URL', 'SHOPWIRE_API_KEY', 'SHOPWIRE_API_SECRET'] as const

/** --profile, then the three variables, then SHOPWIRE_PROFILE, then the profile in use. */
export async function findCredentials(named: string | undefined, env = process.env): Promise<Credentials> {
  if (named === undefined && VARIABLES.some((name) => env[name])) return fromEnvironment(env)
  const { current, profiles } = await readProfiles()
  const name = named ?? (env.SHOPWIRE_PROFILE || current)
  if (name === null) throw nothingSetUp()
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) throw unknownProfile(name, Object.keys(profiles))
  const { base_url: baseUrl, key_id: keyId, secret, emulator_url: emulatorUrl } = profile
  return { source: `profile ${name}`, baseUrl, keyId, secret, emulatorUrl }
}

/** A personal access token of the store's dashboard, and where it is used. */
export interface TokenAccess {
  /** `profile live`, or `environment`. */
  readonly source: string
  readonly dashboardUrl: string
  readonly token: string
  /** Undefined when it has to be derived from the token: the environment has no place to keep one. */
  readonly listenSecret: string | undefined
}

export const TOKEN_VARIABLES = ['SHOPWIRE_DASHBOARD_URL', 'SHOPWIRE_TOKEN'] as const

/** As for credentials: --profile, then the variables, then the profile in use. Undefined when none has a token. */
export async function findToken(
  named: string | undefined,
  env = process.env,
): Promise<TokenAccess | undefined> {
  if (named === undefined && TOKEN_VARIABLES.some((name) => env[name])) return tokenFromEnvironment(env)
  const { current, profiles } = await readProfiles()
  const name = named ?? (env.SHOPWIRE_PROFILE || current)
  const profile = name !== null && Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile?.token === undefined || profile.dashboard_url === undefined) return undefined
  const { token, dashboard_url: dashboardUrl, listen_secret: listenSecret } = profile
  return { source: `profile ${name}`, dashboardUrl: checkedDashboardUrl(dashboardUrl), token, listenSecret }
}

function tokenFromEnvironment(env: NodeJS.ProcessEnv): TokenAccess {
  const { SHOPWIRE_DASHBOARD_URL: dashboardUrl, SHOPWIRE_TOKEN: token } = env
  if (!dashboardUrl || !token) {
    const [given, missing] = token ? [...TOKEN_VARIABLES].reverse() : TOKEN_VARIABLES
    throw new UsageError(
      `${given} is set, but not ${missing}.`,
      'Set both, or none and use a profile: shopwire login',
    )
  }
  return {
    source: 'environment',
    dashboardUrl: checkedDashboardUrl(dashboardUrl),
    token,
    listenSecret: undefined,
  }
}

/** A token is sent over TLS only, except to this machine. */
export function checkedDashboardUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new UsageError(
      `${text.includes('@') ? 'The given text' : JSON.stringify(text)} is not the address of a dashboard.`,
      'It looks like https://dashboard.shop.example.',
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new UsageError(
      `${url.origin} is not encrypted, and a token would be readable on the way.`,
      'Use its https:// address.',
    )
  }
  return url.origin
}

/** Public calls need only an address. */
export async function findBaseUrl(named: string | undefined, env = process.env): Promise<string> {
  if (named === undefined && env.SHOPWIRE_BASE_URL) return env.SHOPWIRE_BASE_URL
  return (await findCredentials(named, env)).baseUrl
}

function fromEnvironment(env: NodeJS.ProcessEnv): Credentials {
  const missing = VARIABLES.filter((name) => !env[name])
  const given = VARIABLES.filter((name) => env[name])
  if (missing.length > 0) {
    throw new UsageError(
      `${given.join(' and ')} ${given.length > 1 ? 'are' : 'is'} set, but not ${missing.join(' or ')}.`,
      'Set all three, or none and use a profile. They are never mixed: a request signed for one store could be repeated at another.',
    )
  }
  const {
    SHOPWIRE_BASE_URL: baseUrl = '',
    SHOPWIRE_API_KEY: keyId = '',
    SHOPWIRE_API_SECRET: secret = '',
  } = env
  return { source: 'environment', baseUrl, keyId, secret }
}

function nothingSetUp(): CliError {
  return new CliError({
    type: 'no_credentials',
    message: 'No API key is configured.',
    next: [
      'shopwire profile add live --base-url https://shop.example/v1 --key-id key_…',
      'shopwire profile add emulator --emulator     (play money on your machine)',
      'or set SHOPWIRE_BASE_URL, SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET.',
    ].join('\n'),
    exitCode: EXIT.usage,
  })
}

export function unknownProfile(name: string, known: readonly string[]): UsageError {
  return new UsageError(
    `There is no profile ${JSON.stringify(name)}.`,
    known.length > 0
      ? `There ${known.length > 1 ? 'are' : 'is'}: ${known.join(', ')}.`
      : 'Add one: shopwire profile add NAME',
  )
}
