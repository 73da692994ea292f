import type { Config } from '../config/config.ts'
import { assertPlain } from '../platform/text/plain-text.ts'
import { Refusal, refuse } from '../platform/trouble.ts'
import { actorOf, type Login } from './actor.ts'

const NAME_LENGTH_MAX = 100

export type IdentitySettings = Pick<
  Config,
  | 'SHOPWIRE_ENV'
  | 'SHOPWIRE_OPERATOR_IDENTITY'
  | 'SHOPWIRE_OPERATOR_TOKEN'
  | 'SHOPWIRE_OPERATOR'
  | 'SHOPWIRE_ACTOR'
>

export interface IdentityDeps {
  readonly login: Login
  /** The value of --actor. */
  readonly given: string | undefined
  /** The owner of the token; undefined when it is not valid. */
  emailOfToken(token: string): Promise<string | undefined>
}

/** The operator is not identified. Only the very first operator is added like this, and nothing else is done. */
export class NoIdentity extends Refusal {}

/**
 * Finds out who acts: `operator:<address>` by a token, `platform:<name>` if the platform is trusted to name the operator,
 * `cli:<login>` if the machine's user is enough. The result returns the actor for the audit log, or refuses; commands that only
 * read do not call it.
 */
export async function whoActs(config: IdentitySettings, deps: IdentityDeps): Promise<() => string> {
  const { SHOPWIRE_OPERATOR_TOKEN: token, SHOPWIRE_OPERATOR: person } = config
  const isDevelopment = config.SHOPWIRE_ENV === 'development'
  const kind = config.SHOPWIRE_OPERATOR_IDENTITY ?? (isDevelopment ? 'machine' : 'required')
  if (token !== undefined) return byToken(token, deps)
  return () => {
    if (kind === 'machine') return actorOf(deps.given ?? config.SHOPWIRE_ACTOR, deps.login, isDevelopment)
    if (kind === 'required' || person === undefined) throw new NoIdentity('invalid_request', NOBODY[kind])
    assertPlain('SHOPWIRE_OPERATOR', person, NAME_LENGTH_MAX)
    return `platform:${person}`
  }
}

/** The actor who adds the first operator, whose identity cannot be verified yet. */
export function firstActorOf(given: string | undefined, login: Login): string {
  return `${actorOf(given, login, true)} (first operator)`
}

const NOBODY = {
  required:
    'The audit log has to name the person who acts, and the user of this machine may be anybody. Set SHOPWIRE_OPERATOR_TOKEN_FILE to the file ' +
    'with your operator token; another operator makes one with "shopwire-admin operators add <your address>", and the first one is ' +
    'added by whoever runs that command first. Nothing was done.',
  platform:
    'The audit log has to name the person who acts: SHOPWIRE_OPERATOR_IDENTITY is "platform", and the platform has not set SHOPWIRE_OPERATOR. ' +
    'Run the command in the environment that signs you in, or set SHOPWIRE_OPERATOR_TOKEN_FILE to the file with your operator token. Nothing was done.',
}

/** A failed look-up matters only when the actor is needed: commands that only read continue. */
async function byToken(token: string, { emailOfToken }: IdentityDeps): Promise<() => string> {
  try {
    const email = await emailOfToken(token)
    if (email !== undefined) return () => `operator:${email}`
  } catch (error) {
    return () => {
      throw error
    }
  }
  return () => {
    throw refuse(
      'authentication_failed',
      'Your operator token is not valid: it is unknown, has expired or was revoked. Another operator makes a new one with ' +
        '"shopwire-admin operators add <your address>". Nothing was done.',
    )
  }
}
