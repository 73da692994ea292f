import { type Check, failed, notApplicable, ok, reasonOf, warning } from './check.ts'

/** The first release in which a primary that stood still and comes back does not take the cluster from its successor. */
const VERSION_SAFE = [3, 0, 3]
/** The one of Debian 12, for which deploy/ha has a patch. */
const VERSION_PATCHED = [3, 0, 2]

/** What Patroni's REST address says: `GET /patroni` and `GET /config`. */
interface Status {
  readonly patroni?: { readonly version?: string }
}
interface ClusterConfig {
  readonly synchronous_mode?: boolean | string
  readonly synchronous_mode_strict?: boolean
  readonly failsafe_mode?: boolean
}

export const PATRONI_CHECK: Check = {
  id: 'patroni',
  group: 'PostgreSQL',
  title: 'Patroni promotes only a standby that has every confirmed order',
  why: 'Otherwise a failover loses orders that callers were told of, and the store closes until an operator has compared it.',
  fix: 'Patroni 3.0.3 or newer; patronictl edit-config: synchronous_mode, synchronous_mode_strict and failsafe_mode true. See "High availability".',
  async examine(about) {
    const url = about.config().SHOPWIRE_PATRONI_URL?.replace(/\/$/, '')
    if (url === undefined) return notApplicable('SHOPWIRE_PATRONI_URL is not set')
    const read = async <Value>(path: string) => {
      try {
        return (await about.jsonOf(`${url}${path}`)) as Value
      } catch (error) {
        throw new NoAnswer(reasonOf(error))
      }
    }
    try {
      const [{ patroni }, config] = [await read<Status>('/patroni'), await read<ClusterConfig>('/config')]
      const version = (patroni?.version ?? '0').split('.').map(Number)
      if (isBefore(version, VERSION_PATCHED)) return failed(`Patroni ${version.join('.')}`)
      const off = missingModes(config)
      if (off.length > 0) return warning(`${off.join(', ')}: not true`)
      return isBefore(version, VERSION_SAFE)
        ? warning(
            `Patroni ${version.join('.')}: orders are lost when a paused primary returns, unless patroni-3.0.2.patch is applied, which cannot be seen from here`,
          )
        : ok(`Patroni ${version.join('.')}, strict synchronous mode`)
    } catch (error) {
      if (error instanceof NoAnswer) return failed(`Patroni does not answer: ${error.message}`)
      throw error
    }
  },
}

class NoAnswer extends Error {}

/** `synchronous_mode: quorum`, of Patroni 4, keeps the same promise. */
function missingModes({ synchronous_mode, synchronous_mode_strict, failsafe_mode }: ClusterConfig): string[] {
  const modes = {
    synchronous_mode: synchronous_mode === true || synchronous_mode === 'on' || synchronous_mode === 'quorum',
    synchronous_mode_strict: synchronous_mode_strict === true,
    failsafe_mode: failsafe_mode === true,
  }
  return Object.entries(modes).flatMap(([name, isOn]) => (isOn ? [] : name))
}

function isBefore(version: readonly number[], other: readonly number[]): boolean {
  const place = other.findIndex((part, n) => part !== (version[n] ?? 0))
  return place >= 0 && (version[place] ?? 0) < (other[place] ?? 0)
}
