import { paths } from '../paths.ts'

/** Where to go after signing in: a path of ours, never another site. */
export function safePath(wanted: string | undefined): string {
  if (!wanted?.startsWith('/') || wanted.startsWith('//') || wanted.includes('\\')) return '/'
  const url = new URL(wanted, window.location.origin)
  // The sign-in page itself would lead to itself.
  if (url.pathname === paths.signIn) return '/'
  return url.origin === window.location.origin ? `${url.pathname}${url.search}` : '/'
}
