/** One, or all you hold: the new and the old while they rotate. What is not set may stand there as undefined or '', if another is. */
export type Secrets = string | undefined | readonly (string | undefined)[]

/**
 * Those that are set; a TypeError when none is. Adapters call it when they are made. A receiver of your own calls it when it starts,
 * because otherwise the first event would be the one to find out.
 */
export function requireSecrets(secrets: Secrets): string[] {
  // An unset variable read as '' would be a key that everybody knows, and so would a line break out of an empty file.
  const held = [secrets].flat().filter((one): one is string => typeof one === 'string' && one.trim() !== '')
  if (held.length > 0) return held
  throw new TypeError(
    'There is no webhook secret, so no event could be checked: all of `secrets` is undefined or empty. Set SHOPWIRE_WEBHOOK_SECRET, or the variable you read it from, to the secret of your endpoint. SHOPWIRE_WEBHOOK_SECRET_PREVIOUS may be left out.',
  )
}
