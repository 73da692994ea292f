import { Button } from '@mantine/core'
import { useEffect } from 'react'
import { MissingPart, reloadOnce } from '#lib/missing-part.ts'
import { Page } from '../components/feedback/page.tsx'
import { words } from '../words.ts'

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
          {words.crashed.reload}
        </Button>
      </Page>
    </div>
  )
}

function reasonOf(error: unknown) {
  if (!(error instanceof MissingPart)) return words.crashed
  return navigator.onLine ? words.update : words.offline
}
