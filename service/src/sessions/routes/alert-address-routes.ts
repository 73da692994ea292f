import type { identityRoutes } from '@shopwire/contract/dashboard'
import { confirmAddress, putAddress } from '../../funding/alert-addresses.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { tokenNames } from '../attempts.ts'
import { type IdentityContext, linkInvalid } from '../context.ts'
import type { IdentityArea } from '../identity-call.ts'
import { accountOf } from '../invitations.ts'
import { alertAddressMail } from '../mails.ts'
import { hashToken, newToken } from '../session-store.ts'

/** Mails an address a link to confirm that it wants the balance alerts of the account. */
export async function askAlertAddress(
  tx: Tx,
  { keyring, origin }: { readonly keyring: Keyring; readonly origin: string },
  { account_id, email }: { readonly account_id: string; readonly email: string },
  nowMs: number,
): Promise<void> {
  // The token contains the account, so only that account is searched.
  const token = `${account_id}-${newToken()}`
  await putAddress(tx, { account_id, email, token_hash: hashToken(token), asked_at: new Date(nowMs) })
  const letter = alertAddressMail(`${origin}/confirm-alerts#${token}`)
  await queueMail(tx, keyring, { to: email, account_id, letter }, nowMs)
}

/**
 * Opened by the owner of the mailbox, signed in or not. There is no audit row, because there is no person to name: the confirmation
 * time is stored with the address.
 */
export function alertAddressRoutes({
  db,
  attempts,
}: IdentityContext): Pick<IdentityArea<typeof identityRoutes>, 'confirmAlertAddress'> {
  return {
    async confirmAlertAddress(call) {
      const names = tokenNames(call.address)
      await attempts.count(names, call.nowMs)
      const { token } = call.body
      const account_id = accountOf(token)
      const confirmed =
        account_id &&
        (await inAccount(db, account_id, (tx) =>
          confirmAddress(tx, account_id, hashToken(token), call.nowMs),
        ))
      if (!confirmed) throw linkInvalid()
      await attempts.giveBack(names)
      return { reply: { email: confirmed.email } }
    },
  }
}
