/** Whether the database can write. A failed statement sets the problem; a trial write that succeeds clears it. */
export interface WriteHealth {
  /** Call it with the error of every failed statement. */
  observe(error: unknown): void
  /** Why nothing can be written, and what to do; undefined when writes work. */
  problem(): string | undefined
  stop(): void
}

const PROBE_EVERY_MS = 1_000

/** By SQLSTATE. PostgreSQL's own message contains paths, so it goes to the log only. */
const PROBLEMS: Readonly<Record<string, string>> = {
  '53100':
    'the database cannot write: its disk is full. Free space there or enlarge the volume; writing resumes within seconds, without a restart',
  '58030':
    'the database cannot write: its disk reports an input/output error. Look at the log of PostgreSQL and at the disk',
}

/** `probe` writes as much as an order may need, so it fails for the same reasons as an order would. */
export function trackWriteHealth(
  probe: () => Promise<unknown>,
  onChange: (problem: string | undefined) => void,
): WriteHealth {
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function set(now: string | undefined) {
    if (problem === now) return
    problem = now
    onChange(now)
  }

  function probeLater() {
    if (isStopped) return
    timer = setTimeout(() => {
      probe().then(
        () => set(undefined),
        (error: unknown) => {
          set(problemOf(error) ?? problem)
          probeLater()
        },
      )
    }, PROBE_EVERY_MS).unref()
  }

  return {
    observe(error) {
      const seen = problemOf(error)
      if (seen === undefined || problem !== undefined) return
      set(seen)
      probeLater()
    },
    problem: () => problem,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function problemOf(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return PROBLEMS[code ?? ''] ?? PROBLEMS[cause?.code ?? '']
}
