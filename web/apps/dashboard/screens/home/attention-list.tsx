import { Section } from '#kit/components/feedback/page.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { home } from '../../strings/home.ts'
import { type Attention, type AttentionRow, rowOf } from './attention-rows.tsx'
import classes from './home.module.css'

const { attention: said } = home

export function AttentionList({ attention }: { readonly attention: readonly Attention[] }) {
  return (
    <Section title={said.title} hasLine>
      {attention.length === 0 ? (
        <div className={classes.quiet}>
          <p className="sw-strong">{said.none}</p>
          <p className="sw-meta">{said.noneBody}</p>
        </div>
      ) : (
        <ul>
          {attention.map((entry, n) => (
            <Row key={`${entry.kind}-${n}`} {...rowOf(entry)} />
          ))}
        </ul>
      )}
    </Section>
  )
}

const Row = ({ icon: picture, tone, title, body, action, to }: AttentionRow) => (
  <li className={classes.entry} data-tone={tone}>
    <span className={classes.entryIcon}>{picture}</span>
    <div className={classes.entryWords}>
      <div className={classes.entryHead}>
        <span className={classes.entryTitle}>{title}</span>
        <AppLink to={to} aria-label={`${action}: ${title}`}>
          {action}
        </AppLink>
      </div>
      <p className={classes.entryBody}>{body}</p>
    </div>
  </li>
)
