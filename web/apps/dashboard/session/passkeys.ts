import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { api } from '../api/client.ts'
import { identity } from '../strings/identity.ts'

type CreationOptions = Parameters<typeof startRegistration>[0]['optionsJSON']
type RequestOptions = Parameters<typeof startAuthentication>[0]['optionsJSON']

/** Asks the browser for a passkey to sign in with. */
export async function signInWithPasskey() {
  const optionsJSON = (await api.act('beginPasskeySignIn', {})) as unknown as RequestOptions
  return api.act('signInWithPasskey', { response: await ask(() => startAuthentication({ optionsJSON })) })
}

export async function stepUpWithPasskey() {
  const optionsJSON = (await api.act('beginPasskeyStepUp', {})) as unknown as RequestOptions
  return api.act('stepUpWithPasskey', { response: await ask(() => startAuthentication({ optionsJSON })) })
}

/** Somebody without a second factor gives the password; others have stepped up. */
export async function addPasskey(name: string, password?: string) {
  const optionsJSON = (await api.act(
    'beginPasskey',
    password ? { password } : {},
  )) as unknown as CreationOptions
  return api.act('addPasskey', { name, response: await ask(() => startRegistration({ optionsJSON })) })
}

/** The browser's errors are for developers; these say what to do. */
async function ask<Response>(run: () => Promise<Response>): Promise<Response> {
  try {
    return await run()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'InvalidStateError') throw new Error(identity.passkey.alreadyThere)
    if (name === 'NotAllowedError' || name === 'AbortError') throw new Error(identity.passkey.notGiven)
    throw new Error(identity.passkey.failed)
  }
}
