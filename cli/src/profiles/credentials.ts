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
