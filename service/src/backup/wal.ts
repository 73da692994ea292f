/** A WAL file of 16 MB, PostgreSQL's default size. Files of one timeline are numbered without gaps. */
export interface Segment {
  readonly name: string
  readonly timeline: number
  readonly number: number
}

interface Covering {
  readonly walStart: Segment
  readonly walStop: Segment
}

const PER_LOG = 0x100
const GAPS_NAMED_MAX = 10

export function segmentOf(name: string): Segment {
  const [timeline = 0, log = 0, part = 0] = [0, 8, 16].map((from) =>
    Number.parseInt(name.slice(from, from + 8), 16),
  )
  return { name, timeline, number: log * PER_LOG + part }
}

/** Where a file begins, as PostgreSQL writes positions. */
export function lsnOf({ number }: Segment): string {
  return `${Math.floor(number / PER_LOG).toString(16)}/${((number % PER_LOG) * 0x1000000).toString(16)}`.toUpperCase()
}

export function isLsnAfter(a: string, b: string): boolean {
  const [x, y] = [a, b].map((lsn) => {
    const [high = '0', low = '0'] = lsn.split('/')
    return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
  }) as [bigint, bigint]
  return x > y
}

/**
 * The names of the WAL files that backups need and that are missing: on each timeline every file from the oldest backup, or from
 * the beginning of the timeline, to its newest. A timeline begins with a copy of the file in which the previous one was left.
 */
export function findGaps(segments: readonly Segment[], backups: readonly Covering[]): string[] {
  const needed = backups.flatMap(({ walStart, walStop }) => [walStart, walStop])
  const oldest = Math.min(...backups.map(({ walStart }) => walStart.number))
  const known = [...segments, ...needed].filter(({ number }) => number >= oldest)
  const missing: string[] = []
  let reached = Number.POSITIVE_INFINITY
  for (const timeline of [...new Set(known.map((each) => each.timeline))].sort((a, b) => a - b)) {
    const numbers = known.filter((each) => each.timeline === timeline).map(({ number }) => number)
    const present = new Set(segments.filter((each) => each.timeline === timeline).map(({ number }) => number))
    const [first, last] = [Math.min(...numbers), Math.max(...numbers)]
    for (let n = Math.min(first, reached + 1); n <= last && missing.length < GAPS_NAMED_MAX; n += 1)
      if (!present.has(n)) missing.push(nameOf(n < first ? timeline - 1 : timeline, n))
    reached = reached === Number.POSITIVE_INFINITY ? last : Math.max(reached, last)
  }
  return missing
}

function nameOf(timeline: number, number: number): string {
  return [timeline, Math.floor(number / PER_LOG), number % PER_LOG]
    .map((part) => part.toString(16).toUpperCase().padStart(8, '0'))
    .join('')
}
