import { Button } from '@mantine/core'
import { IconAlertTriangle, IconLock, IconRefresh } from '@tabler/icons-react'
import { createContext, type ReactNode, useContext } from 'react'
import { RequestError } from '#lib/request-error.ts'
import { words } from '../../words.ts'
import classes from './states.module.css'

interface StateProps {
  readonly title: string
  readonly children?: ReactNode
  readonly actions?: ReactNode
  readonly icon?: ReactNode
  readonly role?: 'alert' | 'status'
}

/** Left-aligned where the rows would begin. Also for "no result": repeat the filters and say what a looser one would find. */
export function EmptyState({ title, children, actions, icon, role }: StateProps) {
  return (
    <div className={classes.state} role={role}>
      <h2 className={classes.title}>
        {icon}
        {title}
      </h2>
      {children ? <div className={classes.body}>{children}</div> : null}
      {actions ? <div className={classes.actions}>{actions}</div> : null}
    </div>
  )
}

interface ErrorStateProps {
  /** What did not load: "Orders". */
  readonly what: string
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}

/** Also covers `role_missing`: then it says who may. */
export function ErrorState({ what, error, onRetry }: ErrorStateProps) {
  const failure = error instanceof RequestError ? error : undefined
  if (failure?.type === 'role_missing') return <NoPermission title={failure.message} />
  return (
    <EmptyState
      role="alert"
      title={words.failures.didNotLoad(what)}
      icon={<IconAlertTriangle size={18} stroke={1.75} className={classes.bad} aria-hidden />}
      actions={
        <>
          {onRetry ? (
            <Button leftSection={<IconRefresh size={14} aria-hidden />} onClick={onRetry}>
              {words.tryAgain}
            </Button>
          ) : null}
          {failure?.requestId ? <span className={classes.request}>{failure.requestId}</span> : null}
        </>
      }
    >
      {error instanceof Error ? error.message : String(error)}
    </EmptyState>
  )
}

/** What an application says to somebody whose role does not suffice: who they are, and who can change it. */
export const RoleHelp = createContext<{ readonly body: ReactNode; readonly action: ReactNode } | null>(null)

/** Who may: "Keys are for Owners and Developers". */
export function NoPermission({ title }: { readonly title: string }) {
  const help = useContext(RoleHelp)
  return (
    <EmptyState
      title={title}
      icon={<IconLock size={18} stroke={1.75} className={classes.quiet} aria-hidden />}
      actions={help?.action}
    >
      {help?.body}
    </EmptyState>
  )
}
