import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerOwnRefusal } from './answers.ts'

const LOOPBACK_NAMES = /^(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * Any page in the browser can send requests to this port, and a name of its own can be made to lead here. So only loopback names
 * are answered, and what changes something has to be JSON, which no page may send to another place without asking first.
 */
export function refuseStrangers(request: IncomingMessage, response: ServerResponse): boolean {
  const { host = '', 'content-type': type = '' } = request.headers
  if (!LOOPBACK_NAMES.test(host)) {
    answerOwnRefusal(response, 403, 'loopback_only', 'This is answered at 127.0.0.1 and localhost only.')
    return true
  }
  // Browsers ask before a DELETE in any case.
  const needsJson = request.method !== 'GET' && request.method !== 'DELETE'
  if (needsJson && !/^application\/json\s*(;|$)/i.test(type)) {
    answerOwnRefusal(response, 415, 'json_only', 'Send it with content-type: application/json.')
    return true
  }
  return false
}

/**
 * The store's own paths are open to every name, as a store's are. But everybody knows the emulator's key, so a page that made its
 * name lead here could sign with it, and have events sent into the network of whoever looks at it. Only browsers say where a page
 * is from, and they always do when it changes something.
 */
export function refusePages(request: IncomingMessage, response: ServerResponse): boolean {
  const { host, origin } = request.headers
  if (origin === undefined || host === undefined || LOOPBACK_NAMES.test(host)) return false
  answerOwnRefusal(response, 403, 'loopback_only', 'Pages are answered at 127.0.0.1 and localhost only.')
  return true
}
