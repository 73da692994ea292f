/** One secret, or several during a rotation. Entries may be undefined or '' as long as one is set. */
export type Secrets = string | undefined | readonly (string | undefined)[]

/**
 * Returns the secrets that are set; throws a TypeError when none is. Adapters call it at creation. Call it when your
 * own receiver starts, or a missing secret is noticed only with the first event.
 */
export function requireSecrets(secrets: Secrets): string[] {
  // An unset variable read as '' would be a key that everybody knows, and so would a line break read from an empty file.
  const held = [secrets].flat().filter((one): one is string => typeof one === 'string' && one.trim() !== '')
  if (held.length > 0) return held
  throw new TypeError(
    'There is no webhook secret, so no event could be checked: all of `secrets` is undefined or empty. Set SHOPWIRE_WEBHOOK_SECRET, or the variable you read it from, to the secret of your endpoint. SHOPWIRE_WEBHOOK_SECRET_PREVIOUS may be left out.',
  )
}
