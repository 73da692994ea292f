import { Button } from '@mantine/core'
import { IconArrowUp } from '@tabler/icons-react'
import { useLiveState } from '#lib/live-state.ts'
import { words } from '../../words.ts'
import classes from './live-pill.module.css'

/** Whether the page follows what happens. Beside the tabs or filters of a live list. */
export function LiveMark() {
  const state = useLiveState()
  const word = { live: words.live, waiting: words.liveWaiting, connecting: words.liveConnecting }[state]
  return (
    <span className={classes.mark} data-state={state} role="status">
      <span className={classes.dot} aria-hidden />
      {word}
    </span>
  )
}

interface NewPillProps {
  readonly count: number
  /** "Show 3 new orders" */
  readonly label: string
  readonly onShow: () => void
}

/** New rows wait here until the reader asks for them: nothing moves under the pointer. */
export function NewPill({ count, label, onShow }: NewPillProps) {
  return (
    <span role="status">
      {count > 0 ? (
        <Button
          size="compact-sm"
          radius="xl"
          className={classes.pill}
          leftSection={<IconArrowUp size={13} aria-hidden />}
          onClick={onShow}
        >
          {label}
        </Button>
      ) : null}
    </span>
  )
}
