import { Button, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useAct } from '../../api/hooks.ts'
import { DialogActions } from '../../components/dialogs.tsx'
import { webhook as text } from '../../strings/webhook.ts'
import { NewSecret } from './new-secret.tsx'
import classes from './webhook.module.css'

const { setup, change } = text

interface UrlFormProps {
  /** On the page instead of in a dialog. */
  readonly isFirst?: boolean
  readonly url?: string
  readonly children?: ReactNode
  readonly onDone?: () => void
}

/** Sets the URL. The service says why one cannot receive events; that is shown under the field. */
export function UrlForm({ isFirst = false, url = '', children, onDone }: UrlFormProps) {
  const [value, setValue] = useState(url)
  const [secret, setSecret] = useState<string>()
  const set = useAct('setWebhook', {
    // A first URL shows its secret before the page changes.
    refresh: isFirst ? [] : ['getWebhook', 'listDeliveries'],
    done: () => (isFirst ? [change.setDone, change.setDoneMore] : [change.done, change.doneMore]),
    failed: null,
    onDone: (reply) => (reply.secret === undefined ? onDone?.() : setSecret(reply.secret)),
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
      {children}
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
      <NewSecret secret={secret} isFirst onClose={() => setSecret(undefined)} />
    </form>
  )
}
