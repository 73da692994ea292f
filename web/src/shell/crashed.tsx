import { Button } from '@mantine/core'
import { useEffect } from 'react'
import { Page } from '../components/feedback/page.tsx'
import { MissingPart, reloadOnce } from '../lib/missing-part.ts'
import { shell } from '../strings/shell.ts'

/** A screen that cannot be shown, by a defect of ours or because a part of it did not load: the rest of the dashboard goes on. */
export function Crashed({ error }: { readonly error: unknown }) {
  useEffect(() => {
    if (error instanceof MissingPart) reloadOnce(error)
  }, [error])
  const { title, body } = reasonOf(error)
  return (
    <div role="alert">
      <Page title={title} meta={body}>
        <Button variant="filled" onClick={() => window.location.reload()}>
          {shell.crashed.reload}
        </Button>
      </Page>
    </div>
  )
}

function reasonOf(error: unknown) {
  if (!(error instanceof MissingPart)) return shell.crashed
  return navigator.onLine ? shell.update : shell.offline
}
