import { type PublicFiles, readPublicFolder } from './public-files.ts'

/** No more than the pages need; docs/self-hosting/README.md has the same policy for hosting them elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The built docs portal, at /docs. Without a folder it is not served. */
export function docsPortal(folder: string | undefined): PublicFiles {
  if (folder === undefined) return new Map()
  return readPublicFolder(folder, '/docs', (name) => ({
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
    // Their names contain a hash of the content.
    ...(name.startsWith('assets/') && { 'cache-control': 'public, max-age=31536000, immutable' }),
  }))
}
