const ANSWER_MS_MAX = 1_000

/** Stores serve their documentation only where an operator has set that up. A link that leads nowhere is worse than none. */
export async function isServed(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}
