import { createHmac, type KeyObject } from 'node:crypto'

/**
 * `__Host-`: browsers accept it over TLS only, without a Domain and for all paths, so that no other host of the domain can set it.
 * Strict: sent only with requests from pages of this dashboard, never with requests that another site starts.
 */
export const COOKIES = {
  session: '__Host-shopwire-session',
  /** Before anybody has signed in, for the CSRF token. */
  visitor: '__Host-shopwire-visitor',
  /** A password was right; the second factor is missing. */
  pending: '__Host-shopwire-pending',
  /** A WebAuthn ceremony is in progress. */
  challenge: '__Host-shopwire-challenge',
  /** A sign-in at a company is in progress. Lax, because the company's site sends the browser back. */
  company: '__Host-shopwire-company',
} as const

const VALUE = /^[A-Za-z0-9_-]{1,100}$/

/** The first cookie of that name; undefined when there is none or it cannot be one of ours. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const [key, ...rest] = part.trim().split('=')
    if (key !== name) continue
    const value = rest.join('=')
    return VALUE.test(value) ? value : undefined
  }
  return undefined
}

export function setCookie(name: string, value: string, maxAgeS: number): string {
  const sameSite = name === COOKIES.company ? 'Lax' : 'Strict'
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}; Secure; HttpOnly; SameSite=${sameSite}`
}

export const clearCookie = (name: string) => setCookie(name, '', 0)

/** Bound to the session, or to the visitor before there is one: a token of another browser or an earlier session is refused. */
export const csrfTokenOf = (key: KeyObject, bearer: string) =>
  createHmac('sha256', key).update(`csrf:${bearer}`).digest('base64url')
