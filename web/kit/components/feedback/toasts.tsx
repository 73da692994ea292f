import { notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react'
import { RequestError } from '#lib/request-error.ts'
import { words } from '../../words.ts'

const STAYS_MS = 6_000
/** To read what happened, and to think again. */
const WITH_UNDO_MS = 12_000
const look = { withBorder: true, radius: 'md', color: 'transparent' } as const

/** What happened, and its consequence. `undo`: does the opposite, once. */
export function showDone(title: string, consequence?: string, undo?: () => void): void {
  const id = notifications.show({
    ...look,
    title,
    message: undo ? (
      <>
        {consequence}{' '}
        <button
          type="button"
          className="sw-link"
          onClick={() => {
            close(id)
            undo()
          }}
        >
          {words.undo}
        </button>
      </>
    ) : (
      (consequence ?? null)
    ),
    icon: <IconCircleCheck size={18} stroke={1.75} color="var(--sw-ok)" aria-hidden />,
    autoClose: undo ? WITH_UNDO_MS : STAYS_MS,
  })
  if (undo) undoable.add(id)
}

const undoable = new Set<string>()

function close(id: string): void {
  undoable.delete(id)
  notifications.hide(id)
}

/** Takes back what is offered: it was meant for the account that the page has left. */
export const offerNoUndo = (): void => undoable.forEach(close)

export function showNote(title: string, more?: string): void {
  notifications.show({
    ...look,
    title,
    message: more ?? null,
    icon: <IconInfoCircle size={18} stroke={1.75} color="var(--sw-ink-2)" aria-hidden />,
    autoClose: STAYS_MS,
  })
}

/** What did not happen, and why. Stays until closed, because the request id is needed afterwards. */
export function showFailure(title: string, error: unknown): void {
  // Somebody who closed the dialog for the second factor decided so.
  if (error instanceof RequestError && error.type === 'step_up_required') {
    showNote(title, words.stepUpDeclined)
    return
  }
  const requestId = error instanceof RequestError ? error.requestId : undefined
  notifications.show({
    ...look,
    title,
    message: (
      <>
        {error instanceof Error ? error.message : String(error)}
        {requestId ? (
          <>
            {' '}
            {words.request} <span className="sw-mono">{requestId}</span>
          </>
        ) : null}
      </>
    ),
    icon: <IconAlertTriangle size={18} stroke={1.75} color="var(--sw-bad)" aria-hidden />,
    autoClose: false,
  })
}
