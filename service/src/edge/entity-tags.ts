/**
 * Whether an If-None-Match contains this tag: `*`, or a list with it. A proxy may have marked our tag as weak; it still means the
 * same version.
 */
export function namesTag(list: string | undefined, etag: string): boolean {
  if (list === undefined) return false
  if (list.trim() === '*') return true
  return list.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** Whether an Accept-Encoding names this encoding and does not refuse it by a weight of 0. */
export function takesEncoding(list: string, encoding: string): boolean {
  return list.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return name === encoding && !parameters.some((text) => /^q=0(\.0*)?$/.test(text))
  })
}
