import { showFailure, showNote } from '#kit/components/feedback/toasts.tsx'
import { api } from '../api/client.ts'
import { leaveAccount, renewSession } from '../api/session.ts'
import { shell } from '../strings/shell.ts'

/** Goes on in another account of the same person. */
export async function switchAccount(account_id: string, name: string): Promise<void> {
  try {
    await api.act('switchAccount', { account_id })
    leaveAccount()
    await renewSession()
    showNote(shell.account.switched(name))
  } catch (error) {
    showFailure(shell.account.notSwitched, error)
  }
}
