import { Button } from '@mantine/core'
import { Page } from '../components/feedback/page.tsx'
import { shell } from '../strings/shell.ts'

/** A defect of ours: the rest of the dashboard goes on. */
export function Crashed() {
  return (
    <div role="alert">
      <Page title={shell.crashed.title} meta={shell.crashed.body}>
        <Button variant="filled" onClick={() => window.location.reload()}>
          {shell.crashed.reload}
        </Button>
      </Page>
    </div>
  )
}
