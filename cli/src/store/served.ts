const ANSWER_MS_MAX = 1_000

/** Not every store serves its documentation, so a link is printed only after its page was found. */
export async function isServed(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}
