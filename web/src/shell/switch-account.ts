import { api } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { readsOfAccount, renewSession } from '../api/session.ts'
import { showFailure, showNote } from '../components/toasts.tsx'
import { shell } from '../strings/shell.ts'

/** Goes on in another account of the same person. */
export async function switchAccount(account_id: string, name: string): Promise<void> {
  try {
    await api.act('switchAccount', { account_id })
    await renewSession()
    // Nothing of the other account may stay on the screen.
    queryClient.removeQueries(readsOfAccount)
    await queryClient.resetQueries(readsOfAccount)
    showNote(shell.account.switched(name))
  } catch (error) {
    showFailure(shell.account.notSwitched, error)
  }
}
