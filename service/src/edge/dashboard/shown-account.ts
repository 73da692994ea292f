import type { IncomingMessage } from 'node:http'
import { ACCOUNT_HEADER, ACCOUNT_PARAMETER, type DashboardRoute } from '@shopwire/contract/dashboard'
import { refuse } from '../../platform/trouble.ts'

/**
 * A session is in one account at a time, and all windows of a browser share it: after a switch the other windows still show the
 * previous account. The account in the request is only compared with the session's, which alone decides where something is read or
 * done.
 */
export function refuseOtherAccount(shown: string | undefined, account_id: string): void {
  if (shown === account_id) return
  throw shown === undefined
    ? refuse(
        'account_mismatch',
        'This request does not say which account its page shows, so nothing was read or changed. Reload the page and try again.',
        { check: 'no account' },
      )
    : refuse(
        'account_mismatch',
        'This window shows another account than the one you are in now: it was switched in another window. Nothing was read or changed. Reload the page.',
        { check: 'another account' },
      )
}

/** The account that the page shows, as named in the request. Browsers cannot add our header to a file or a stream. */
export function shownAccountOf(
  { reply }: DashboardRoute,
  { headers }: IncomingMessage,
  query: string | undefined,
): string | undefined {
  if (!reply) return new URLSearchParams(query).get(ACCOUNT_PARAMETER) ?? undefined
  const named = headers[ACCOUNT_HEADER]
  return typeof named === 'string' ? named : undefined
}
