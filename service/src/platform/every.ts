export interface Repeating {
  start(): void
  /** Resolves when no run is in progress any more. */
  stop(): Promise<void>
}

/** Runs `work` repeatedly with a pause in between, never two runs at once. */
export function every(
  pauseMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Repeating {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let isStopped = false
  const next = () => {
    if (isStopped) return
    timer = setTimeout(() => {
      running = work().catch(onError).finally(next)
    }, pauseMs)
  }
  return {
    start: next,
    stop() {
      isStopped = true
      clearTimeout(timer)
      return running
    },
  }
}
