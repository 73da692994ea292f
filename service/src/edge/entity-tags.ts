/** Whether an If-None-Match names this tag: `*`, or a list with it. A proxy on the way may have marked ours as weak; it still means the same version. */
export function namesTag(list: string | undefined, etag: string): boolean {
  if (list === undefined) return false
  if (list.trim() === '*') return true
  return list.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
