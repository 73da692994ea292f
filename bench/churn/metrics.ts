/** One answer of /metrics: values by name and labels, as they are written there. */
export type Scraped = ReadonlyMap<string, number>

export async function scrape(healthUrl: string): Promise<Scraped> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ')
      return [line.slice(0, end), Number(line.slice(end + 1))] as const
    }),
  )
}

/** The sum of all values of a name whose labels include these. */
export function sumOf(all: readonly Scraped[], name: string, ...labels: string[]): number {
  let sum = 0
  for (const scraped of all) {
    for (const [key, value] of scraped) if (isSeries(key, name, labels)) sum += value
  }
  return sum
}

/** How many values each bucket of a histogram has so far, by its upper bound in seconds. */
export function bucketsOf(all: readonly Scraped[], name: string, label: string): Map<number, number> {
  const counts = new Map<number, number>()
  for (const scraped of all) {
    for (const [key, value] of scraped) {
      if (!isSeries(key, `${name}_bucket`, [label])) continue
      const [, bound = ''] = /le="([^"]*)"/.exec(key) ?? []
      const upTo = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
      counts.set(upTo, (counts.get(upTo) ?? 0) + value)
    }
  }
  return counts
}

/** The quantile of what came into a histogram between two looks, in ms: within its bucket the values count as evenly spread. */
export function bucketQuantileMs(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
  share: number,
): number {
  const bounds = [...after.keys()].sort((a, b) => a - b)
  const upTo = (bound: number) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0)
  const wanted = upTo(Number.POSITIVE_INFINITY) * share
  if (wanted === 0) return Number.NaN
  let [lower, below] = [0, 0]
  for (const bound of bounds) {
    const count = upTo(bound)
    if (count >= wanted) {
      const inside = count === below ? 1 : (wanted - below) / (count - below)
      return 1_000 * (bound === Number.POSITIVE_INFINITY ? lower : lower + (bound - lower) * inside)
    }
    ;[lower, below] = [bound, count]
  }
  return Number.NaN
}

function isSeries(key: string, name: string, labels: readonly string[]): boolean {
  return (key === name || key.startsWith(`${name}{`)) && labels.every((label) => key.includes(label))
}
