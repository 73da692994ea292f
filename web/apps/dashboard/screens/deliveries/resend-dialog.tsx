import { Button } from '@mantine/core'
import { useState } from 'react'
import { ConfirmDialog, Dialog, DialogActions, Facts } from '#kit/components/feedback/dialogs.tsx'
import { Id } from '#kit/components/values/id.tsx'
import type { Reply } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { deliveries } from '../../strings/deliveries.ts'

const { selection: text } = deliveries

type Results = Reply<'resendEvents'>['results']

interface ResendDialogProps {
  /** Of events, each once. */
  readonly ids: readonly string[]
  /** Of the table: an event that was sent to two URLs has two. */
  readonly rows: number
  readonly onClose: () => void
  /** All that could be sent is on the way. */
  readonly onSent: () => void
}

/** Sends the selected events again, after saying how many, and then says which were not sent and why. */
export function ResendDialog({ ids, rows, onClose, onSent }: ResendDialogProps) {
  // Of this dialog: pressed again after an answer was lost, it sends nothing twice.
  const [attempt] = useState(() => crypto.randomUUID())
  const [left, setLeft] = useState<Results>()
  const resend = useAct('resendEvents', {
    refresh: ['listDeliveries', 'getWebhook', 'deliveryHours', 'getDelivery'],
    done: ({ results }) =>
      notSent(results).length === 0
        ? [text.done(results.length), text.doneMore]
        : [text.partly(results.length - notSent(results).length, results.length)],
    failed: text.notDone,
    onDone: ({ results }) => {
      onSent()
      if (notSent(results).length === 0) onClose()
      else setLeft(results)
    },
  })
  if (left) return <Outcomes results={left} onClose={onClose} />
  const count = ids.length
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={text.title(count)}
      lead={text.lead}
      confirm={text.confirm(count)}
      keep={text.keep}
      isBusy={resend.isPending}
      onConfirm={() => resend.mutate({ event_ids: [...ids], attempt })}
    >
      {rows > count ? <p className="sw-meta">{text.twice(rows - count)}</p> : null}
    </ConfirmDialog>
  )
}

function Outcomes({ results, onClose }: { readonly results: Results; readonly onClose: () => void }) {
  const left = notSent(results)
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={text.partly(results.length - left.length, results.length)}
      lead={text.partlyLead}
    >
      <Facts
        facts={left.map(({ event_id, outcome }) => ({
          key: event_id,
          label: <Id id={event_id} as="short" />,
          value: text.outcomes[outcome],
        }))}
      />
      <DialogActions>
        <Button variant="filled" onClick={onClose} data-autofocus>
          {text.close}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

const notSent = (results: Results) => results.filter(({ outcome }) => outcome !== 'resent')
