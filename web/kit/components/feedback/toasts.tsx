import { notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react'
import { RequestError } from '#lib/request-error.ts'
import { words } from '../../words.ts'

const STAYS_MS = 6_000
const look = { withBorder: true, radius: 'md', color: 'transparent' } as const

/** What happened, and its consequence. */
export function showDone(title: string, consequence?: string): void {
  notifications.show({
    ...look,
    title,
    message: consequence ?? null,
    icon: <IconCircleCheck size={18} stroke={1.75} color="var(--sw-ok)" aria-hidden />,
    autoClose: STAYS_MS,
  })
}

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
