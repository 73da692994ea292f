import { Button, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { identity } from '../strings/identity.ts'
import classes from './session.module.css'

interface CodeFormProps {
  readonly onTotp: (code: string) => Promise<unknown>
  readonly onRecovery?: ((code: string) => Promise<unknown>) | undefined
  readonly submit?: string
  readonly extra?: ReactNode
  /** Another way stands first: no filled button, no focus. */
  readonly isSecondary?: boolean
}

const DIGITS = 6
const words = identity.code

/** A code of the authenticator app, or a recovery code. Six digits send themselves. */
export function CodeForm({
  onTotp,
  onRecovery,
  submit = words.submit,
  extra,
  isSecondary = false,
}: CodeFormProps) {
  const [isRecovery, setRecovery] = useState(false)
  const [code, setCode] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const send = async (value: string) => {
    if (!isRecovery && !/^\d{6}$/.test(value)) return setError(identity.codeWrong)
    if (isBusy || value === '') return
    setBusy(true)
    setError(undefined)
    try {
      await (isRecovery && onRecovery ? onRecovery(value) : onTotp(value))
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
      setCode('')
    } finally {
      setBusy(false)
    }
  }
  const change = (value: string) => {
    const clean = isRecovery ? value.trim() : value.replace(/\D/g, '').slice(0, DIGITS)
    setCode(clean)
    setError(undefined)
    if (!isRecovery && clean.length === DIGITS && clean !== code) void send(clean)
  }
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void send(code)
      }}
    >
      <TextInput
        key={String(isRecovery)}
        label={isRecovery ? words.labelRecovery : words.label}
        value={code}
        onChange={(event) => change(event.currentTarget.value)}
        error={error}
        autoComplete={isRecovery ? 'off' : 'one-time-code'}
        inputMode={isRecovery ? 'text' : 'numeric'}
        spellCheck={false}
        classNames={{ input: classes.code ?? '' }}
        {...(isSecondary ? {} : { 'data-autofocus': true, autoFocus: true })}
      />
      <Button type="submit" variant={isSecondary ? 'default' : 'filled'} fullWidth loading={isBusy}>
        {submit}
      </Button>
      {onRecovery ? (
        <button
          type="button"
          className={classes.switch}
          onClick={() => {
            setRecovery(!isRecovery)
            setCode('')
            setError(undefined)
          }}
        >
          {isRecovery ? words.useApp : words.useRecovery}
        </button>
      ) : null}
      {extra}
    </form>
  )
}
