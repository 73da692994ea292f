import { Page } from '../components/feedback/page.tsx'
import { Mark } from './mark.tsx'
import type { NavGroup } from './nav.ts'
import rail from './rail.module.css'
import classes from './shell.module.css'

interface WaitingShellProps {
  readonly nav: readonly NavGroup[]
  /** What stands where the menu of the person will. */
  readonly name: string
  readonly pathname: string
}

/** The frame, until the service has said who is signed in: nothing in it can be pressed yet. */
export function WaitingShell({ nav, name, pathname }: WaitingShellProps) {
  const title = nav.flatMap(({ items }) => items).find(({ to }) => to === pathname)?.label
  return (
    <div className={classes.shell} aria-busy>
      <div className={classes.navbar} aria-hidden>
        <div className={rail.rail}>
          <div className={rail.person}>
            <Mark />
            <span className={rail.personName}>{name}</span>
          </div>
          <div className={rail.find} />
          <div className={rail.nav}>
            {nav.map(({ label, items }) => (
              <div key={label ?? 'main'} className={rail.group}>
                {label ? <div className={rail.groupLabel}>{label}</div> : null}
                {items.map(({ to, label: screen, icon: Icon }) => (
                  <div key={to} className={rail.waiting} data-status={to === pathname ? 'active' : undefined}>
                    <Icon size={16} stroke={1.6} />
                    {screen}
                  </div>
                ))}
              </div>
            ))}
          </div>
        </div>
      </div>
      <main className={classes.main}>
        <header className={classes.bar} aria-hidden>
          <Mark />
          <span className={classes.barName}>{name}</span>
        </header>
        {title === undefined ? null : <Page title={title} />}
      </main>
    </div>
  )
}
