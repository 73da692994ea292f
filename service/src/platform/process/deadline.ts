/** The deadline of a piece of work has passed. */
export class DeadlineError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Runs the work with a signal that is aborted at the deadline, or together with `outer`. AbortSignal.any with AbortSignal.timeout takes
 * 6.3 µs of processor time instead of 1.7 and keeps each timer until it fires: 800 MB after a million short calls with 20 s each.
 */
export async function withDeadline<T>(
  msMax: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted()
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new DeadlineError(`not finished after ${msMax} ms`)), msMax)
  const follow = () => controller.abort(outer?.reason)
  outer?.addEventListener('abort', follow, { once: true })
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', follow)
  }
}

/** For work that takes no signal: its result, or the signal's reason if that comes first. The work itself is not stopped. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
