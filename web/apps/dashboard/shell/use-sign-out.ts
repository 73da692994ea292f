import { queryClient } from '#client/query-client.ts'
import { showFailure } from '#kit/components/feedback/toasts.tsx'
import { isRequestError } from '#lib/request-error.ts'
import { api } from '../api/client.ts'
import { paths } from '../paths.ts'
import { rememberAccount } from '../session/last-account.ts'

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
