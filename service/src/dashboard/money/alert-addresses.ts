import { ALERT_ADDRESSES_MAX, type moneyRoutes } from '@shopwire/contract/dashboard'
import { deleteAddress, selectAddresses } from '../../funding/alert-addresses.ts'
import { selectAlert } from '../../funding/balance-alert.ts'
import type { Queryable } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import { type Attempts, alertMailNames } from '../../sessions/attempts.ts'
import { readersOf, selectMailMembers } from '../../sessions/mail-choices.ts'
import { selectMembers } from '../../sessions/members.ts'
import { tidyEmail } from '../../sessions/people.ts'
import { askAlertAddress } from '../../sessions/routes/alert-address-routes.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'

export interface AlertAddressDeps {
  readonly act: MemberAct
  readonly keyring: Keyring
  /** Of the dashboard's pages. */
  readonly origin: string
  readonly attempts: Pick<Attempts, 'count'>
}

type AlertAddressHandlers = Pick<Area<typeof moneyRoutes>, 'addAlertAddress' | 'removeAlertAddress'>

/** Addresses outside the team that get the balance alerts, once they have confirmed. */
export const alertAddressArea = ({
  act,
  keyring,
  origin,
  attempts,
}: AlertAddressDeps): AlertAddressHandlers => ({
  async addAlertAddress({ member, body, nowMs }) {
    const { account_id } = member
    const email = tidyEmail(body.email)
    // Before the transaction: the attempt is counted on a separate connection, even if the action then fails.
    await attempts.count(alertMailNames(account_id, email), nowMs)
    return act(member, 'balance.add_alert_address', async (tx) => {
      const known = await selectAddresses(tx, account_id)
      const found = known.find((one) => one.email === email)
      if (found?.confirmed_at)
        throw refuse('conflict', `${email} has confirmed already and gets the mails. Reload the page.`)
      if (!found && known.length >= ALERT_ADDRESSES_MAX)
        throw refuse('conflict', `${ALERT_ADDRESSES_MAX} addresses at most. Remove one of them first.`)
      if ((await selectMembers(tx, account_id)).some((one) => one.email === email))
        throw refuse(
          'conflict',
          `${email} belongs to a member of the account. Choose them among the members.`,
        )
      await askAlertAddress(tx, { keyring, origin }, { account_id, email }, nowMs)
      return { result: await readAlert(tx, account_id), target: account_id, after: { email } }
    })
  },

  removeAlertAddress: ({ member, body }) =>
    act(member, 'balance.remove_alert_address', async (tx) => {
      const email = tidyEmail(body.email)
      if ((await deleteAddress(tx, member.account_id, email)) === 0)
        throw refuse('not_found', 'This address was removed already. Reload the page.')
      return {
        result: await readAlert(tx, member.account_id),
        target: member.account_id,
        before: { email },
      }
    }),
})

export async function readAlert(tx: Queryable, account_id: string) {
  const alert = await selectAlert(tx, account_id)
  const addresses = await selectAddresses(tx, account_id)
  const { goesTo, waitsFor } = readersOf('balance_alert', await selectMailMembers(tx, account_id))
  return {
    threshold_cents: alert?.threshold_cents ?? null,
    people: [...goesTo, ...waitsFor].map(({ person_id }) => person_id),
    addresses: addresses.map(({ email, asked_at, confirmed_at }) => ({
      email,
      is_confirmed: confirmed_at !== null,
      asked_at: asked_at.toISOString(),
      confirmed_at: confirmed_at?.toISOString() ?? null,
    })),
    state: alert?.state ?? 'ok',
    state_since: alert?.state_since?.toISOString() ?? null,
  }
}
