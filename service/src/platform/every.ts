export interface Repeating {
  start(): void
  /** Resolves when no run is in progress any more. */
  stop(): Promise<void>
}

/** Runs `work` repeatedly with a pause in between, never two runs at once. Long work asks whether it should end early. */
export function every(
  pauseMs: number,
  work: (isStopped: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
): Repeating {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let isStopped = false
  const next = () => {
    if (isStopped) return
    timer = setTimeout(() => {
      running = work(() => isStopped)
        .catch(onError)
        .finally(next)
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
