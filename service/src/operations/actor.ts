import { userInfo } from 'node:os'
import { assertPlain } from '../platform/text/plain-text.ts'
import { refuse } from '../platform/trouble.ts'

const ACTOR_LENGTH_MAX = 100

export interface Login {
  readonly uid: number
  /** Undefined when the user id has no name, as in a container that runs under a number. */
  readonly name: string | undefined
}

/**
 * The actor in the audit log. A given name is recorded together with the login, so that people on a shared machine cannot act under
 * another person's name unnoticed. In a container everybody is root, so production requires a name there.
 */
export function actorOf(given: string | undefined, login: Login, isDevelopment: boolean): string {
  const person = login.uid === 0 ? undefined : login.name
  if (given !== undefined) {
    assertPlain('An actor', given, ACTOR_LENGTH_MAX)
    return person === undefined || person === given ? `cli:${given}` : `cli:${given} (login ${person})`
  }
  if (person !== undefined) return `cli:${person}`
  if (isDevelopment) return `cli:${login.name ?? `uid-${login.uid}`}`
  const why = login.uid === 0 ? 'root may be anybody' : `the user id ${login.uid} has no name`
  throw refuse(
    'invalid_request',
    `The audit log has to name who acts, and ${why}. Give a name with --actor <name> or SHOPWIRE_ACTOR; ` +
      'for a scheduled job give the name of the job. Nothing was done.',
  )
}

export function currentLogin(): Login {
  try {
    const { uid, username } = userInfo()
    return { uid, name: username }
  } catch {
    return { uid: process.getuid?.() ?? -1, name: undefined }
  }
}
