import type { IncomingMessage } from 'node:http'
import { ACCOUNT_HEADER, ACCOUNT_PARAMETER, type DashboardRoute } from '@shopwire/contract/dashboard'
import { refuse } from '../../platform/trouble.ts'

/**
 * A session is in one account at a time, and all windows of a browser share it: after a switch the others still show the account before.
 * What a page shows is only compared with the account of the session, which alone says where something is read or done.
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

/** The account that the page shows, as the request names it. Browsers add no header of ours to a file or a stream. */
export function shownAccountOf(
  { reply }: DashboardRoute,
  { headers }: IncomingMessage,
  query: string | undefined,
): string | undefined {
  if (!reply) return new URLSearchParams(query).get(ACCOUNT_PARAMETER) ?? undefined
  const named = headers[ACCOUNT_HEADER]
  return typeof named === 'string' ? named : undefined
}
