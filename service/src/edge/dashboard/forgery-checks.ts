import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { CSRF_HEADER } from '@shopwire/contract/dashboard'
import { refuse } from '../../platform/trouble.ts'

/**
 * Which page sent the request, from headers that browsers add and scripts of other sites cannot change. `isOpen`: the request may
 * come from anywhere by a link, such as a company's own sign-in.
 */
export function refuseForeignPage(
  { method, headers }: IncomingMessage,
  origin: string,
  isOpen: boolean,
): void {
  const site = headers['sec-fetch-site']
  if (method === 'GET') {
    // A reader who types the address has "none". Old browsers send nothing; reads change nothing, and other origins cannot see
    // their answers.
    const isForeign = site === 'cross-site' || site === 'same-site'
    if (isForeign && !(isOpen && headers['sec-fetch-mode'] === 'navigate')) throw forged('Sec-Fetch-Site')
    return
  }
  if (headers.origin !== origin) throw forged('Origin')
  if (site !== 'same-origin') throw forged('Sec-Fetch-Site')
}

/** The token that only a page opened by this visitor can know. */
export function refuseWithoutToken({ headers }: IncomingMessage, token: string | undefined): void {
  const sent = headers[CSRF_HEADER]
  if (token === undefined || typeof sent !== 'string' || !isEqual(sent, token)) throw forged(CSRF_HEADER)
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function forged(check: string) {
  return refuse(
    'request_forged',
    'This request does not come from an open page of this dashboard, so nothing was done. Reload the page and try again.',
    { check },
  )
}
