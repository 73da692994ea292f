/** Where to go after signing in: a path of ours, never another site. */
export function safePath(wanted: string | undefined): string {
  if (!wanted?.startsWith('/') || wanted.startsWith('//') || wanted.includes('\\')) return '/'
  const url = new URL(wanted, window.location.origin)
  return url.origin === window.location.origin ? `${url.pathname}${url.search}` : '/'
}
