import { Button, Checkbox, Modal, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { focusMain } from '#lib/main-content.ts'
import { words } from '../../words.ts'
import { CopyButton } from '../values/copy-button.tsx'
import classes from './dialogs.module.css'

interface DialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  /** One or two sentences under the title. */
  readonly lead?: ReactNode
  readonly children?: ReactNode
  readonly size?: number
  /** Cannot be closed by Esc or a click beside it. */
  readonly isFirm?: boolean
  /** Over another dialog that is open. */
  readonly isOnTop?: boolean
}

/** Above menus and other dialogs (200, 300), below notifications. */
const ON_TOP = 350

/** Only to decide something or to show something once. */
export function Dialog({
  isOpen,
  onClose,
  title,
  lead,
  children,
  size = 440,
  isFirm = false,
  isOnTop = false,
}: DialogProps) {
  useReturnFocus(isOpen)
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      size={size}
      padding="lg"
      {...(isOnTop ? { zIndex: ON_TOP } : {})}
      closeOnEscape={!isFirm}
      closeOnClickOutside={false}
      withCloseButton={!isFirm}
      classNames={{ header: classes.header ?? '', body: classes.body ?? '' }}
    >
      {lead ? <div className={classes.lead}>{lead}</div> : null}
      {children}
    </Modal>
  )
}

/**
 * Gives the focus back when the dialog closes, also when it was mounted open and is unmounted, which Mantine's own return leaves out.
 */
function useReturnFocus(isOpen: boolean): void {
  const before = useRef<Element | null>(null)
  // While it is drawn: afterwards the dialog has the focus.
  if (!isOpen) before.current = null
  else before.current ??= document.activeElement
  useEffect(() => {
    if (!isOpen) return
    const had = before.current
    return () => {
      setTimeout(() => {
        if (document.activeElement !== document.body) return
        if (had instanceof HTMLElement && had.isConnected && had !== document.body)
          had.focus({ preventScroll: true })
        else focusMain()
      })
    }
  }, [isOpen])
}

/** The buttons of a dialog: what stays as it is first, the one filled button last. */
export const DialogActions = ({ children }: { readonly children: ReactNode }) => (
  <div className={classes.actions}>{children}</div>
)

/** Now, change, after: a list of words and values between hairlines. */
export function Facts({
  facts,
}: {
  readonly facts: readonly {
    readonly key?: string
    readonly label: ReactNode
    readonly value: ReactNode
    readonly isSum?: boolean
  }[]
}) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ key, label, value, isSum }) => (
        <div key={key ?? String(label)} className={classes.fact} data-sum={isSum || undefined}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface ConfirmDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Names the amount or the thing: "Add $50,000.00 to the balance". */
  readonly title: string
  readonly lead?: ReactNode
  /** <Facts>: now, change, after. */
  readonly children?: ReactNode
  /** Verb and object or amount: "Add $50,000.00", "Revoke key". */
  readonly confirm: string
  /** What stays: "Keep balance as is". Has the focus. */
  readonly keep: string
  readonly isDestructive?: boolean
  /** Stops live traffic: the name has to be typed. */
  readonly typeName?: string | undefined
  readonly isBusy?: boolean
  readonly onConfirm: () => void
}

/** Before money moves or something is destroyed. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title, lead, children, isBusy = false } = props
  return (
    <Dialog isOpen={isOpen} onClose={isBusy ? () => {} : onClose} title={title} lead={lead}>
      {children}
      <ConfirmForm {...props} />
    </Dialog>
  )
}

function ConfirmForm({
  confirm,
  keep,
  isDestructive = false,
  typeName,
  isBusy = false,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const isReady = typeName === undefined || typed.trim() === typeName.trim()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onConfirm()
      }}
    >
      {typeName === undefined ? null : (
        <TextInput
          mt="md"
          label={words.typeToConfirm(typeName)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      )}
      <DialogActions>
        <Button
          type="button"
          onClick={onClose}
          disabled={isBusy}
          {...(typeName === undefined ? { 'data-autofocus': true } : {})}
        >
          {keep}
        </Button>
        <Button
          type="submit"
          variant="filled"
          {...(isDestructive ? { color: 'red' } : {})}
          disabled={!isReady}
          loading={isBusy}
        >
          {confirm}
        </Button>
      </DialogActions>
    </form>
  )
}

interface SecretOnceProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  readonly lead?: ReactNode
  /** "Key id", "Secret": those marked secret are warned about. */
  readonly values: readonly { readonly label: string; readonly value: string; readonly isSecret?: boolean }[]
  readonly warning?: string
  /** "I stored the secret on my server" */
  readonly stored?: string
  /** Snippets that use it. */
  readonly children?: ReactNode
}

/** A secret that will not be shown again. Closes only after the reader says that it is stored. */
export function SecretOnce({
  isOpen,
  onClose,
  title,
  lead,
  values,
  warning = words.secretOnce.warning,
  stored = words.secretOnce.stored,
  children,
}: SecretOnceProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} lead={lead} size={600} isFirm>
      {values.map(({ label, value, isSecret = false }) => (
        <SecretValue key={label} label={label} value={value} isSecret={isSecret} />
      ))}
      <p className={classes.warning}>
        <IconAlertTriangle size={15} stroke={1.75} aria-hidden />
        {warning}
      </p>
      {children ? <div className={classes.snippets}>{children}</div> : null}
      <StoredForm stored={stored} onClose={onClose} />
    </Dialog>
  )
}

function SecretValue({
  label,
  value,
  isSecret,
}: {
  readonly label: string
  readonly value: string
  readonly isSecret: boolean
}) {
  const id = useId()
  return (
    <div className={classes.value}>
      <label htmlFor={id} className={classes.label}>
        {label}
      </label>
      <div className={classes.valueBox}>
        <input
          id={id}
          className={classes.valueText}
          value={value}
          readOnly
          onFocus={(event) => event.currentTarget.select()}
        />
        {isSecret ? (
          <CopyButton text={value} what={label} label={words.copy} />
        ) : (
          <CopyButton text={value} what={label} />
        )}
      </div>
    </div>
  )
}

function StoredForm({ stored, onClose }: { readonly stored: string; readonly onClose: () => void }) {
  const [isStored, setStored] = useState(false)
  return (
    <div className={classes.stored}>
      <Checkbox
        label={stored}
        checked={isStored}
        onChange={(event) => setStored(event.currentTarget.checked)}
        data-autofocus
      />
      <Button variant="filled" disabled={!isStored} onClick={onClose}>
        {words.secretOnce.done}
      </Button>
    </div>
  )
}
