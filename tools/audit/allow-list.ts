/** An advisory that we live with for a while. */
export interface Allowed {
  /** As the advisory's address ends, such as GHSA-xvch-5gv4-984h. */
  readonly advisory: string
  /** The package it is about. */
  readonly package: string
  /** Why it does no harm here, or what we wait for. */
  readonly reason: string
  /** The last day, in UTC: then look again. */
  readonly until: string
}

export const ALLOWED: readonly Allowed[] = []

/** Longer than this, nobody would look again. */
const DAYS_MAX = 90
const REASON_CHARACTERS_MIN = 20
const DAY_MS = 86_400_000

/** What is wrong with entries of the list, without asking anybody. `names` are those of all locked packages. */
export function problemsOf(allowed: readonly Allowed[], names: ReadonlySet<string>, nowMs: number): string[] {
  return allowed.flatMap((entry, at) => {
    const { advisory, package: name, reason, until } = entry
    const endMs = Date.parse(`${until}T00:00:00Z`) + DAY_MS
    const isDay = /^\d{4}-\d\d-\d\d$/.test(until) && !Number.isNaN(endMs)
    const isTwice = allowed.findIndex((one) => isSame(one, entry)) !== at
    return [
      !/^GHSA(-[23456789cfghjmpqrvwx]{4}){3}$/.test(advisory) && 'is not the id of an advisory (GHSA-…)',
      isTwice && 'is in the list twice',
      !names.has(name) && `is about ${name}, which is no longer in package-lock.json: remove the entry`,
      reason.trim().length < REASON_CHARACTERS_MIN && 'has no reason that another person could judge',
      !isDay && `ends on "${until}", which is not a day such as 2026-12-31`,
      isDay &&
        endMs <= nowMs &&
        `ended on ${until}: update ${name}, or look at the reason again and move the day`,
      isDay &&
        endMs > nowMs + (DAYS_MAX + 1) * DAY_MS &&
        `ends on ${until}, more than ${DAYS_MAX} days from now`,
    ].flatMap((problem) => (problem === false ? [] : [`${advisory} (${name}) ${problem}`]))
  })
}

export function isSame(a: Pick<Allowed, 'advisory' | 'package'>, b: typeof a): boolean {
  return a.advisory === b.advisory && a.package === b.package
}
