import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useState } from 'react'
import { type Selection, SelectionBar } from '#kit/components/lists/selection.tsx'
import { DownloadButton } from '#kit/components/values/download-button.tsx'
import { api } from '../../api/client.ts'
import { deliveries } from '../../strings/deliveries.ts'
import { ResendDialog } from './resend-dialog.tsx'

const { selection: text } = deliveries

interface SelectedDeliveriesProps {
  readonly selection: Selection
  readonly canResend: boolean
}

/** What can be done with the selected deliveries. */
export function SelectedDeliveries({ selection, canResend }: SelectedDeliveriesProps) {
  // As they were when the dialog was opened: what is sent leaves the selection.
  const [asked, ask] = useState<readonly string[]>()
  // An event that was sent to two URLs has two rows.
  const events = (rows: readonly string[]) => [...new Set(rows.map((row) => row.split('.')[0] ?? ''))]
  const ids = events(selection.ids)
  return (
    <>
      <SelectionBar selection={selection}>
        {canResend ? (
          <Button leftSection={<IconRefresh size={14} aria-hidden />} onClick={() => ask(selection.ids)}>
            {text.resend(ids.length)}
          </Button>
        ) : null}
        <DownloadButton
          href={api.href('exportDeliveries', { query: { ids: ids.join() } })}
          label={text.export}
        />
      </SelectionBar>
      {asked ? (
        <ResendDialog
          ids={events(asked)}
          rows={asked.length}
          onClose={() => ask(undefined)}
          onSent={selection.clear}
        />
      ) : null}
    </>
  )
}
