export interface Repeating {
  start(): void
  /** Resolves when no run is in progress any more. */
  stop(): Promise<void>
}

/**
 * Runs `work` repeatedly with a pause in between, never two runs at once; the pause may depend on how long the last run took. Long
 * work should check whether it has to end early.
 */
export function every(
  pauseMs: number | ((tookMs: number) => number),
  work: (isStopped: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
): Repeating {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let isStopped = false
  const next = (tookMs: number) => {
    if (isStopped) return
    timer = setTimeout(
      () => {
        const beganMs = performance.now()
        running = work(() => isStopped)
          .catch(onError)
          .finally(() => next(performance.now() - beganMs))
      },
      typeof pauseMs === 'number' ? pauseMs : pauseMs(tookMs),
    )
  }
  return {
    start: () => next(0),
    stop() {
      isStopped = true
      clearTimeout(timer)
      return running
    },
  }
}
