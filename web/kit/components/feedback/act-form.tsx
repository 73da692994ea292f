import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import classes from './dialogs.module.css'
import { DialogActions } from './dialogs.tsx'

interface ActFormProps {
  /** What `useAct` gave: whether it is under way, and why it failed. An error that a toast says is not passed. */
  readonly act: { readonly isPending: boolean; readonly error?: Error | null }
  /** Undefined while something is missing or wrong: pressing then shows what. */
  readonly send: (() => void) | undefined
  /** Verb and object. */
  readonly submit: string
  /** What stays as it is. */
  readonly keep: string
  readonly onClose: () => void
  /** Nothing was changed yet. */
  readonly isUnchanged?: boolean
  /** The button for what stays has the focus, because no field needs it. */
  readonly isKeepFirst?: boolean
  /** Before the two buttons. */
  readonly first?: ReactNode
  /** With whether it was pressed: fields say what is wrong only after that. */
  readonly children: (isTried: boolean) => ReactNode
}

/** The form of a dialog that does one thing: its fields, what the service refused, and its two buttons. */
export function ActForm({
  act,
  send,
  submit,
  keep,
  onClose,
  isUnchanged = false,
  isKeepFirst = false,
  first,
  children,
}: ActFormProps) {
  const [isTried, setTried] = useState(false)
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        send?.()
      }}
    >
      {children(isTried)}
      {act.error ? (
        <p className={classes.problem} role="alert">
          {act.error.message}
        </p>
      ) : null}
      <DialogActions>
        {first}
        <Button onClick={onClose} {...(isKeepFirst ? { 'data-autofocus': true } : {})}>
          {keep}
        </Button>
        <Button type="submit" variant="filled" disabled={isUnchanged} loading={act.isPending}>
          {submit}
        </Button>
      </DialogActions>
    </form>
  )
}
