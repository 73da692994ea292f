/** A longer timer, such as Infinity, would ring at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * A signal that ends with the caller's, or after so long. By hand, because AbortSignal.any and AbortSignal.timeout leave their
 * listeners and timers to the garbage collector, and some versions of Node lose the abort along with them.
 */
export function deadline(
  ms: number,
  callers: AbortSignal | undefined,
): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const end = () => controller.abort(callers?.reason)
  const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX))
  if (callers?.aborted) end()
  callers?.addEventListener('abort', end, { once: true })
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      callers?.removeEventListener('abort', end)
    },
  }
}
