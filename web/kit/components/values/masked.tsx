import { ActionIcon, Button } from '@mantine/core'
import { IconEye, IconEyeOff } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { words } from '../../words.ts'
import { CopyButton } from './copy-button.tsx'
import classes from './masked.module.css'

const HIDES_AFTER_S = 30
const DOTS = '•'.repeat(16)

interface MaskedProps {
  /** What may be shown always, such as the host: "gift.example/". Never the last characters. */
  readonly prefix: string
  /** For the names of the buttons: "link 2". */
  readonly what: string
  /** Fetches the value; the service records that it was revealed. */
  readonly onReveal: () => Promise<string>
  readonly canReveal?: boolean
}

/** A gift link or secret: hidden completely, shown for 30 seconds, never a link that can be followed or previewed. */
export function Masked({ prefix, what, onReveal, canReveal = true }: MaskedProps) {
  const [value, setValue] = useState<string>()
  const [left, setLeft] = useState(0)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (value === undefined) return
    const timer = setInterval(() => setLeft((seconds) => seconds - 1), 1_000)
    return () => clearInterval(timer)
  }, [value])
  useEffect(() => {
    if (left <= 0) setValue(undefined)
  }, [left])
  const reveal = async () => {
    setBusy(true)
    try {
      const revealed = await onReveal()
      setLeft(HIDES_AFTER_S)
      setValue(revealed)
    } catch {
      // The caller has said why.
    } finally {
      setBusy(false)
    }
  }
  return (
    <span className={classes.masked}>
      <span className={classes.text} translate="no">
        {value ?? (
          <>
            <span aria-hidden>
              {prefix}
              {DOTS}
            </span>
            <span className="sw-hidden">{what}, hidden</span>
          </>
        )}
      </span>
      {value === undefined ? (
        canReveal ? (
          <Button
            size="compact-sm"
            loading={isBusy}
            onClick={() => void reveal()}
            leftSection={<IconEye size={14} aria-hidden />}
            aria-label={`${words.reveal} ${what}`}
          >
            {words.reveal}
          </Button>
        ) : null
      ) : (
        <span className={classes.tools}>
          <span className="sw-meta sw-num">{words.hidesIn(left)}</span>
          <CopyButton text={value} what={what} />
          <ActionIcon size={24} aria-label={`${words.hide} ${what}`} onClick={() => setValue(undefined)}>
            <IconEyeOff size={14} aria-hidden />
          </ActionIcon>
        </span>
      )}
    </span>
  )
}
