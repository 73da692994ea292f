/** The longest delay a timer takes; a longer one, such as Infinity, would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export interface Deadline {
  readonly signal: AbortSignal
  leftMs(): number
  clear(): void
}

/**
 * A signal that aborts with the caller's signal or after the timeout, with the reason that is given for each. Written by hand because AbortSignal.any and
 * AbortSignal.timeout leave their listeners and timers to the garbage collector, and some versions of Node lose the
 * abort along with them.
 */
export function deadline(
  ms: number,
  callers: AbortSignal | undefined,
  reasonOf: (end: 'aborted' | 'timeout') => unknown = () => undefined,
): Deadline {
  const endsAtMs = performance.now() + ms
  const controller = new AbortController()
  const end = () => controller.abort(reasonOf(callers?.aborted ? 'aborted' : 'timeout'))
  const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX))
  if (callers?.aborted) end()
  callers?.addEventListener('abort', end, { once: true })
  return {
    signal: controller.signal,
    leftMs: () => endsAtMs - performance.now(),
    clear() {
      clearTimeout(timer)
      callers?.removeEventListener('abort', end)
    },
  }
}
