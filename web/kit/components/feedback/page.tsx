import { IconChevronRight } from '@tabler/icons-react'
import { Fragment, type ReactNode, useEffect } from 'react'
import { words } from '../../words.ts'
import { AppLink } from '../values/app-link.tsx'
import classes from './page.module.css'

interface PageProps {
  /** A noun for a list ("Orders"), a sentence for a state ("Three things need you"). */
  readonly title: string
  /** Of the browser tab, where the title is a sentence. */
  readonly tab?: string
  /** Detail pages only: where it belongs, and then what it is. */
  readonly breadcrumb?: readonly { readonly label: ReactNode; readonly to?: string; readonly key: string }[]
  readonly chip?: ReactNode
  readonly meta?: ReactNode
  /** Exactly one filled button, last. */
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** The frame of every screen: breadcrumb, title with one chip, one line of meta, actions on the right. */
export function Page({ title, tab, breadcrumb, chip, meta, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${tab ?? title} · ${words.product}`
  }, [tab, title])
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className={classes.words}>
          {breadcrumb ? (
            <nav aria-label="Breadcrumb" className={classes.breadcrumb}>
              {breadcrumb.map(({ label, to, key }, index) => (
                <Fragment key={key}>
                  {index > 0 ? <IconChevronRight size={14} aria-hidden /> : null}
                  {to === undefined ? <span>{label}</span> : <AppLink to={to}>{label}</AppLink>}
                </Fragment>
              ))}
            </nav>
          ) : null}
          <div className={classes.titleLine}>
            <h1 className={classes.title}>{title}</h1>
            {chip}
          </div>
          {meta ? <p className={classes.meta}>{meta}</p> : null}
        </div>
        {actions ? <div className={`${classes.actions} sw-screen-only`}>{actions}</div> : null}
      </header>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  readonly aside?: ReactNode
  readonly children: ReactNode
  /** A hairline under the title, for sections that list things. */
  readonly hasLine?: boolean
}

export function Section({ title, aside, children, hasLine = false }: SectionProps) {
  return (
    <section className={classes.section}>
      <div className={classes.sectionHead} data-line={hasLine || undefined}>
        <h2 className={classes.sectionTitle}>{title}</h2>
        {aside ? <div className={classes.aside}>{aside}</div> : null}
      </div>
      {children}
    </section>
  )
}
