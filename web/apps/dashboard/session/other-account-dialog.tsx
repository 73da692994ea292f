import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Dialog, DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { isRequestError } from '#lib/request-error.ts'
import { sessionQuery } from '../api/session.ts'
import { shell } from '../strings/shell.ts'

const words = shell.otherAccount

/**
 * The session was switched in another window: the service refuses everything that this one asks for. It cannot be closed, because
 * nothing behind it works; it goes by itself when the other window has switched back.
 */
export function OtherAccountDialog() {
  const { error } = useQuery(sessionQuery)
  const isOpen = isRequestError(error, 'account_mismatch')
  return (
    <Dialog
      isOpen={isOpen}
      onClose={() => {}}
      title={words.title}
      lead={isOpen ? error.message : null}
      isFirm
      isOnTop
    >
      <DialogActions>
        <Button variant="filled" data-autofocus onClick={() => window.location.reload()}>
          {words.reload}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
