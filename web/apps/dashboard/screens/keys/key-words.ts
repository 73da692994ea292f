import type { StatusKind } from '#kit/components/values/status.tsx'
import { formatDuration } from '#lib/time.ts'
import type { Reply } from '../../api/client.ts'
import { keys, presets } from '../../strings/keys.ts'

export type Key = Reply<'listKeys'>['keys'][number]
export type NewKey = Reply<'createKey'>
export type Token = Reply<'listTokens'>['tokens'][number]
export type NewToken = Reply<'createToken'>

export function presetOf(scopes: readonly string[]) {
  return presets.find(
    (preset) => preset.scopes.length === scopes.length && preset.scopes.every((one) => scopes.includes(one)),
  )
}

const ALL = presets.at(-1)?.scopes.length ?? 0

/** `Full`, `all 6 scopes`; or `Custom` and the scopes themselves while they are few. */
export function rightsOf(scopes: readonly string[]): readonly [string, string] {
  const preset = presetOf(scopes)
  if (scopes.length === ALL) return [preset?.name ?? keys.custom, keys.allScopes(ALL)]
  return [preset?.name ?? keys.custom, scopes.length > 2 ? keys.someScopes(scopes.length) : scopes.join(', ')]
}

export const statusOf = ({ state }: Key): StatusKind =>
  (({ active: 'active', never_used: 'unused', rotating_out: 'rotating', revoked: 'revoked' }) as const)[state]

/** Under the word of a key that is rotating out: whether it can go, and why. */
export function rotationNote(key: Key, nowMs = Date.now()): readonly [string, string] | undefined {
  if (key.state !== 'rotating_out') return undefined
  if (key.last_used_at === null) return [keys.safe, keys.safeNever]
  const span = formatDuration(nowMs - new Date(key.last_used_at).getTime())
  return key.safe_to_revoke
    ? [keys.safe, keys.safeMore(hours(span))]
    : [keys.stillUsed, keys.stillUsedMore(`${hours(span)} ago`)]
}

/** `26 h 04 m` says no more than `26 h` here. */
const hours = (span: string) => span.replace(/ \d\d [ms]$/, '')

export const canSpend = ({ scopes }: Key) => scopes.includes('orders:write')
/** Revoking it stops nothing that was seen in the last day. */
export const isQuiet = (key: Key) => key.last_used_at === null || key.safe_to_revoke
