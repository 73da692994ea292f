import { Button, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { useAct } from '../../api/hooks.ts'
import { webhook as text } from '../../strings/webhook.ts'
import classes from './webhook.module.css'

const { setup, change } = text

interface UrlFormProps {
  /** On the page instead of in a dialog. */
  readonly isFirst?: boolean
  readonly url?: string
  readonly children?: ReactNode
  readonly onDone?: () => void
  /** A first URL comes with a secret; whoever shows it must outlive this form, which goes as soon as the URL is set. */
  readonly onSecret?: (secret: string) => void
}

/** Sets the URL. The service says why one cannot receive events; that is shown under the field. */
export function UrlForm({ isFirst = false, url = '', children, onDone, onSecret }: UrlFormProps) {
  const [value, setValue] = useState(url)
  const set = useAct('setWebhook', {
    refresh: ['getWebhook', 'listDeliveries'],
    done: () => (isFirst ? [change.setDone, change.setDoneMore] : [change.done, change.doneMore]),
    failed: null,
    onDone: ({ secret }) => {
      if (secret !== undefined) onSecret?.(secret)
      onDone?.()
    },
  })
  const wanted = value.trim()
  const field = (
    <TextInput
      label={setup.urlLabel}
      placeholder={setup.urlPlaceholder}
      type="url"
      inputMode="url"
      autoComplete="off"
      spellCheck={false}
      value={value}
      onChange={(event) => setValue(event.currentTarget.value)}
      error={set.error?.message}
      data-autofocus
    />
  )
  return (
    <form
      noValidate
      className={isFirst ? classes.first : undefined}
      onSubmit={(event) => {
        event.preventDefault()
        if (wanted !== '') set.mutate({ url: wanted })
      }}
    >
      {field}
      {children ? <div className={classes.consequence}>{children}</div> : null}
      {isFirst ? (
        <Button type="submit" variant="filled" disabled={wanted === ''} loading={set.isPending}>
          {setup.setUrl}
        </Button>
      ) : (
        <DialogActions>
          <Button onClick={onDone}>{change.keep}</Button>
          <Button
            type="submit"
            variant="filled"
            disabled={wanted === '' || wanted === url}
            loading={set.isPending}
          >
            {change.confirm}
          </Button>
        </DialogActions>
      )}
    </form>
  )
}
