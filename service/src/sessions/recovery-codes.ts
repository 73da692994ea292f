import { randomInt } from 'node:crypto'
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto'

const COUNT = 10
const HALF = 5
/** Without letters that are taken for digits or for each other. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Ten codes of 49 random bits each, each good for one sign-in without the authenticator app. */
export function newRecoveryCodes(): string[] {
  const half = () => Array.from({ length: HALF }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return Array.from({ length: COUNT }, () => `${half()}-${half()}`)
}

/** In the form in which it is stored, however it was typed. */
export const tidyRecoveryCode = (code: string) => {
  const letters = code.toLowerCase().replaceAll('-', '')
  return `${letters.slice(0, HALF)}-${letters.slice(HALF)}`
}

export const sealCodes = (secret: string, text: string) => symmetricEncrypt({ key: secret, data: text })
export const unsealCodes = (secret: string, text: string) => symmetricDecrypt({ key: secret, data: text })
