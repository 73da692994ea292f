import { type ReactNode, useEffect } from 'react'
import { Mark } from '#kit/shell/mark.tsx'
import { words } from '#kit/words.ts'
import classes from './public-page.module.css'

interface PublicPageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children?: ReactNode
  readonly foot?: ReactNode
}

/** A page for somebody who is not signed in yet: one narrow column. */
export function PublicPage({ title, lead, children, foot }: PublicPageProps) {
  useEffect(() => {
    document.title = title ? `${title} · ${words.product}` : words.product
  }, [title])
  return (
    <main className={classes.page}>
      <div className={classes.column}>
        <div className={classes.brand}>
          <Mark size={26} />
          <span>{words.product}</span>
        </div>
        {title ? <h1 className={classes.title}>{title}</h1> : null}
        {lead ? <p className={classes.lead}>{lead}</p> : null}
        {children}
        {foot ? <div className={classes.foot}>{foot}</div> : null}
      </div>
    </main>
  )
}
