import { z } from 'zod'
import { type KekEntry, parseKekEntry } from '../../platform/encryption/kek-providers.ts'
import { type Given, isDevelopment, secret } from '../values.ts'

export interface EncryptionKeys {
  readonly keys: ReadonlyMap<string, KekEntry>
  readonly activeId: string
}

/** Public, because it is in this file: accepted in development, refused in production. */
export const DEVELOPMENT_ENCRYPTION_KEY = `dev:${Buffer.from('shopwire development key, 32 byt').toString('base64')}`
const KEY_BYTES = 32

export const encryptionSettings = {
  SHOPWIRE_ENCRYPTION_KEYS: secret(
    z
      .string()
      .describe(
        'key-encryption keys, separated by commas: `id:base64` of 32 bytes, `id:file:/path` of a file with that, or `id:aws-kms:…` as `shopwire-admin encryption new-key` prints it',
      ),
  ),
  SHOPWIRE_ENCRYPTION_KEY_ACTIVE: z
    .string()
    .optional()
    .describe('id used for new values; the first one by default'),
}

export function readEncryptionKeys(given: Given, problems: string[]): EncryptionKeys | undefined {
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

/** The development key, and keys that are not random, are for development only. */
export function encryptionProblems(given: Given): string[] {
  if (isDevelopment(given)) return []
  const entries = given.SHOPWIRE_ENCRYPTION_KEYS?.split(',') ?? []
  return entries.flatMap((entry) => {
    const key = Buffer.from(entry.trim().split(':')[1] ?? '', 'base64')
    const isDevelopmentKey = key.equals(Buffer.from(DEVELOPMENT_ENCRYPTION_KEY.split(':')[1] ?? '', 'base64'))
    if (!isDevelopmentKey && (key.length !== KEY_BYTES || new Set(key).size >= 8)) return []
    return [
      'SHOPWIRE_ENCRYPTION_KEYS: holds the development key or one that is not random; production refuses it',
    ]
  })
}
