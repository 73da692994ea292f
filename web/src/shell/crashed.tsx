import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Page } from '../components/page.tsx'
import { EmptyState } from '../components/states.tsx'
import { shell } from '../strings/shell.ts'

/** A defect of ours: the rest of the dashboard goes on. */
export function Crashed() {
  return (
    <Page title={shell.crashed.title}>
      <EmptyState
        role="alert"
        title={shell.crashed.title}
        icon={<IconAlertTriangle size={18} color="var(--sw-bad)" aria-hidden />}
        actions={
          <Button variant="filled" onClick={() => window.location.reload()}>
            {shell.crashed.reload}
          </Button>
        }
      >
        {shell.crashed.body}
      </EmptyState>
    </Page>
  )
}
