import { Facts } from '#kit/components/feedback/dialogs.tsx'
import { Section } from '#kit/components/feedback/page.tsx'
import { DetailPanel } from '#kit/components/lists/detail-panel.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { audit } from '../../strings/audit.ts'
import { actionWords } from './action-words.ts'
import classes from './audit.module.css'
import type { AuditRow } from './audit-row.ts'
import { changesOf, type Names } from './changes.ts'
import { Target } from './target.tsx'

interface AuditPanelProps {
  readonly row: AuditRow
  readonly names: Names
  readonly onClose: () => void
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** One action: who, from where, and each value before and after. */
export function AuditPanel({ row, names, onClose, onPrevious, onNext }: AuditPanelProps) {
  const changes = changesOf(row.before, row.after, names)
  return (
    <DetailPanel
      title={actionWords(row.action)}
      meta={<span className="sw-mono">{row.action}</span>}
      onClose={onClose}
      onPrevious={onPrevious}
      onNext={onNext}
    >
      <Facts
        facts={[
          { label: audit.when, value: <Time at={row.at} /> },
          { label: audit.person, value: row.actor_name },
          { label: audit.target, value: <Target row={row} names={names} isLink /> },
          { label: audit.address, value: <span className="sw-mono">{row.address ?? words.none}</span> },
          { label: audit.request, value: <span className="sw-mono">{row.request_id ?? words.none}</span> },
        ]}
      />
      <Section title={audit.change}>
        {changes.length === 0 ? (
          <p className="sw-quiet">{audit.nothing}</p>
        ) : (
          <table className={classes.changes}>
            <caption className="sw-hidden">{audit.change}</caption>
            <thead>
              <tr>
                <th scope="col">{audit.field}</th>
                <th scope="col">{audit.before}</th>
                <th scope="col">{audit.after}</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ field, before, after, isChanged }) => (
                <tr key={field} data-changed={isChanged || undefined}>
                  <th scope="row">{field}</th>
                  <td data-value={before === words.none ? undefined : true}>{before}</td>
                  <td>{after}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Section>
    </DetailPanel>
  )
}
