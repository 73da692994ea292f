import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { copyText } from '#lib/copy.ts'
import { words } from '../../words.ts'
import { showFailure } from '../feedback/toasts.tsx'

const SHOWN_MS = 1_600

export interface CopyButtonProps {
  readonly text: string
  /** For the name of the button: "Copy order id". */
  readonly what: string
  /** A button with words instead of an icon. */
  readonly label?: string
  readonly isFilled?: boolean
  readonly className?: string | undefined
  readonly size?: number
  readonly onCopied?: () => void
}

/** Copies, and says so where the reader looks, and to a screen reader. */
export function CopyButton({
  text,
  what,
  label,
  isFilled = false,
  className,
  size = 24,
  onCopied,
}: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async () => {
    if (!(await copyText(text)))
      return showFailure(
        'Not copied',
        new Error('The browser refused access to the clipboard. Select the text and copy it yourself.'),
      )
    setCopied(true)
    onCopied?.()
  }
  const icon = isCopied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />
  const said = (
    <span className="sw-hidden" role="status">
      {isCopied ? words.copied : ''}
    </span>
  )
  if (label !== undefined) {
    return (
      <Button
        leftSection={icon}
        variant={isFilled ? 'filled' : 'default'}
        onClick={() => void copy()}
        className={className}
      >
        {isCopied ? words.copied : label}
        {said}
      </Button>
    )
  }
  return (
    <Tooltip label={isCopied ? words.copied : words.copyThis(what)}>
      <ActionIcon
        size={size}
        aria-label={words.copyThis(what)}
        onClick={(event) => {
          event.stopPropagation()
          event.preventDefault()
          void copy()
        }}
        className={className}
      >
        {icon}
        {said}
      </ActionIcon>
    </Tooltip>
  )
}
