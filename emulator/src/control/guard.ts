import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerOwnRefusal } from './answers.ts'

const LOOPBACK_NAMES = /^(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * Protects against CSRF and DNS rebinding: any web page can send requests to this port, and can make its host name
 * resolve to this machine. So only loopback host names are accepted, and changes need a JSON content type, for which
 * browsers send a preflight request first.
 */
export function refuseStrangers(request: IncomingMessage, response: ServerResponse): boolean {
  const { host = '', 'content-type': type = '' } = request.headers
  if (!LOOPBACK_NAMES.test(host)) {
    answerOwnRefusal(response, 403, 'loopback_only', 'This is answered at 127.0.0.1 and localhost only.')
    return true
  }
  // Browsers always send a preflight request before a DELETE.
  const needsJson = request.method !== 'GET' && request.method !== 'DELETE'
  if (needsJson && !/^application\/json\s*(;|$)/i.test(type)) {
    answerOwnRefusal(response, 415, 'json_only', 'Send it with content-type: application/json.')
    return true
  }
  return false
}

/**
 * The store's paths accept every host name, as a real store does. But the emulator's key is public, so a page whose
 * host name resolves to this machine (DNS rebinding) could sign with it, and have events sent into the user's
 * network. Only browsers send an Origin header, and they always do for requests that change something.
 */
export function refusePages(request: IncomingMessage, response: ServerResponse): boolean {
  const { host, origin } = request.headers
  if (origin === undefined || host === undefined || LOOPBACK_NAMES.test(host)) return false
  answerOwnRefusal(
    response,
    403,
    'loopback_only',
    'Web pages can use the emulator only at 127.0.0.1 and localhost.',
  )
  return true
}
