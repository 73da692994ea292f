import { api } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { isRequestError } from '../api/request-error.ts'
import { showFailure } from '../components/feedback/toasts.tsx'
import { rememberAccount } from '../lib/last-account.ts'
import { paths } from '../paths.ts'

/** Ends the session and loads the page anew, so that nothing of it stays in memory. */
export function useSignOut(): () => void {
  return () => {
    api.act('signOut', {}).then(leave, (error: unknown) => {
      if (isRequestError(error, 'sign_in_required')) leave()
      else showFailure('You are still signed in', error)
    })
  }
}

function leave(): void {
  rememberAccount(null)
  queryClient.clear()
  window.location.assign(paths.signIn)
}
