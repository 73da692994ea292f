export interface Repeating {
  start(): void
  /** Comes back when nothing of it is under way any more. */
  stop(): Promise<void>
}

/** Runs `work` again and again with a pause in between, never twice at once. */
export function every(
  pauseMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Repeating {
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> = Promise.resolve()
  let isStopped = false
  const next = () => {
    if (isStopped) return
    timer = setTimeout(() => {
      underWay = work().catch(onError).finally(next)
    }, pauseMs)
  }
  return {
    start: next,
    stop() {
      isStopped = true
      clearTimeout(timer)
      return underWay
    },
  }
}
