import { type ReactNode, useState } from 'react'
import { ConfirmDialog, Dialog, Facts } from '#kit/components/feedback/dialogs.tsx'
import { formatCount } from '#lib/money.ts'
import { useAct } from '../../api/hooks.ts'
import { webhook as text } from '../../strings/webhook.ts'
import { NewSecret } from './new-secret.tsx'
import { UrlForm } from './url-form.tsx'
import classes from './webhook.module.css'
import type { Webhook } from './webhook-types.ts'

export type Decision = 'url' | 'stop' | 'rotate' | 'end'

interface WebhookDialogsProps {
  readonly decision: Decision | undefined
  readonly webhook: Webhook
  readonly onDecide: (decision: Decision | undefined) => void
  /** Set anew after the webhook was stopped. */
  readonly onSecret: (secret: string) => void
}

export function WebhookDialogs({ decision, webhook, onDecide, onSecret }: WebhookDialogsProps) {
  const close = () => onDecide(undefined)
  const { pending, webhook_url } = webhook.health
  const cancelled =
    pending === 0 ? null : (
      <Facts facts={[{ label: text.change.pending, value: text.change.cancelled(formatCount(pending)) }]} />
    )
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <Dialog
        isOpen={decision === 'url'}
        onClose={close}
        title={text.change.title}
        lead={text.change.lead}
        size={520}
      >
        {decision === 'url' ? (
          <UrlForm url={webhook_url ?? ''} onDone={close} onSecret={onSecret}>
            {cancelled}
          </UrlForm>
        ) : null}
      </Dialog>
      <StopDialog isOpen={decision === 'stop'} onClose={close}>
        {cancelled}
      </StopDialog>
      <RotateDialog
        isOpen={decision === 'rotate'}
        onClose={close}
        hasPrevious={Boolean(webhook.secret?.previous_ends_at)}
        onSecret={setSecret}
      />
      <EndPreviousDialog isOpen={decision === 'end'} onClose={close} />
      <NewSecret secret={secret} isFirst={false} onClose={() => setSecret(undefined)} />
    </>
  )
}

interface ConfirmProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

function StopDialog({ isOpen, onClose, children }: ConfirmProps & { readonly children: ReactNode }) {
  const stop = useAct('setWebhook', {
    refresh: ['getWebhook', 'listDeliveries'],
    done: () => [text.stop.done, text.stop.doneMore],
    failed: text.stop.failed,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={text.stop.title}
      lead={text.stop.lead}
      confirm={text.stop.confirm}
      keep={text.stop.keep}
      typeName={text.stop.typeName}
      isDestructive
      isBusy={stop.isPending}
      onConfirm={() => stop.mutate({ url: null })}
    >
      {children}
    </ConfirmDialog>
  )
}

function RotateDialog({
  isOpen,
  onClose,
  hasPrevious,
  onSecret,
}: ConfirmProps & {
  /** The secret before this one is still accepted. */
  readonly hasPrevious: boolean
  readonly onSecret: (secret: string | undefined) => void
}) {
  const rotate = useAct('rotateSecret', {
    refresh: ['getWebhook'],
    failed: text.rotate.failed,
    onDone: ({ secret }) => {
      onClose()
      onSecret(secret)
    },
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={text.rotate.title}
      lead={text.rotate.lead}
      confirm={text.rotate.confirm}
      keep={text.rotate.keep}
      isBusy={rotate.isPending}
      onConfirm={() => rotate.mutate({})}
    >
      <ol className={classes.plan}>
        {text.rotate.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {hasPrevious ? <p className={classes.again}>{text.rotate.again}</p> : null}
    </ConfirmDialog>
  )
}

function EndPreviousDialog({ isOpen, onClose }: ConfirmProps) {
  const end = useAct('endPreviousSecret', {
    refresh: ['getWebhook'],
    done: () => [text.end.done],
    failed: text.end.failed,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={text.end.title}
      lead={text.end.lead}
      confirm={text.end.confirm}
      keep={text.end.keep}
      isDestructive
      isBusy={end.isPending}
      onConfirm={() => end.mutate({})}
    />
  )
}
