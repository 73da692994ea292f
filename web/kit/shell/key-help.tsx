import { usePreferences } from '#lib/preferences.ts'
import { Dialog } from '../components/feedback/dialogs.tsx'
import { Key } from '../components/lists/pager.tsx'
import { words as all } from '../words.ts'
import classes from './key-help.module.css'
import type { NavGroup } from './nav.ts'

const words = all.shortcuts

interface KeyHelpProps {
  readonly nav: readonly NavGroup[]
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function KeyHelp({ nav, isOpen, onClose }: KeyHelpProps) {
  const { shortcuts } = usePreferences()
  const goTo = nav.flatMap(({ items }) => items).map(({ key, label }) => ({ keys: ['g', key], what: label }))
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={words.title} size={560}>
      <div className={classes.groups} data-off={!shortcuts || undefined}>
        <div>
          <Group
            title={words.everywhere}
            rows={[
              { keys: ['⌘K'], what: words.find },
              { keys: ['/'], what: words.search },
              { keys: ['?'], what: words.help },
              { keys: ['Esc'], what: words.closes },
            ]}
          />
          <Group
            title={words.lists}
            rows={[
              { keys: ['j', 'k'], what: words.move },
              { keys: ['↵'], what: words.open },
              { keys: ['c'], what: words.copy },
              { keys: ['x'], what: words.select },
              { keys: ['f'], what: words.filters },
            ]}
          />
        </div>
        <Group title={words.goTo} rows={goTo} />
      </div>
      <p className="sw-meta">{words.off}</p>
    </Dialog>
  )
}

function Group({
  title,
  rows,
}: {
  readonly title: string
  readonly rows: readonly { readonly keys: readonly string[]; readonly what: string }[]
}) {
  return (
    <section className={classes.group}>
      <h3 className={classes.title}>{title}</h3>
      <dl>
        {rows.map(({ keys, what }) => (
          <div key={what} className={classes.row}>
            <dt>{what}</dt>
            <dd>
              {keys.map((key) => (
                <Key key={key}>{key}</Key>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
