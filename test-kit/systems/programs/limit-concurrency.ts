/** The same function, of which at most `max` calls run at a time; the others wait. */
export function limitConcurrency<Args extends unknown[], Result>(
  max: number,
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (...args) => {
    while (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    running += 1
    try {
      return await work(...args)
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}
