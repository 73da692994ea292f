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
