import { Button, Checkbox } from '@mantine/core'
import { IconAlertTriangle, IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { identity } from '../strings/identity.ts'
import classes from './session.module.css'

const words = identity.recovery

/** The codes, once. Goes on only when the reader says that they are stored. */
export function RecoveryCodes({
  codes,
  onDone,
}: {
  readonly codes: readonly string[]
  readonly onDone: () => void
}) {
  const [isStored, setStored] = useState(false)
  const text = codes.join('\n')
  return (
    <div className={classes.form}>
      <ul className={classes.codes} aria-label={words.label} translate="no">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className={classes.row}>
        <CopyButton text={text} what={words.label} label={words.copy} />
        <Button onClick={() => save(text)} leftSection={<IconDownload size={14} aria-hidden />}>
          {words.download}
        </Button>
      </div>
      <p className={classes.warning}>
        <IconAlertTriangle size={15} stroke={1.75} aria-hidden />
        {words.warning}
      </p>
      <Checkbox
        label={words.stored}
        checked={isStored}
        onChange={(event) => setStored(event.currentTarget.checked)}
      />
      <Button variant="filled" fullWidth disabled={!isStored} onClick={onDone}>
        {words.done}
      </Button>
    </div>
  )
}

function save(text: string): void {
  const url = URL.createObjectURL(new Blob([`Shopwire recovery codes\n\n${text}\n`], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'shopwire-recovery-codes.txt'
  link.click()
  URL.revokeObjectURL(url)
}
