import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatCount } from '#lib/money.ts'
import { useUrlState } from '#lib/url-state.ts'
import classes from './status-tabs.module.css'

interface StatusTabsProps {
  readonly label: string
  /** The name in the address. The first tab is its absence. */
  readonly name: string
  readonly tabs: readonly {
    readonly value: string
    readonly word: string
    readonly count?: number | undefined
  }[]
  readonly aside?: ReactNode
}

/** Tabs over a list, with counts. The choice is in the address. */
export function StatusTabs({ label, name, tabs, aside }: StatusTabsProps) {
  const [values, set] = useUrlState()
  const first = tabs[0]?.value ?? ''
  return (
    <div className={classes.line}>
      <Tabs
        value={values[name] ?? first}
        onChange={(value) => set({ [name]: value === first ? undefined : (value ?? undefined) })}
        classNames={{ tab: classes.tab ?? '', list: classes.list ?? '' }}
      >
        <Tabs.List aria-label={label}>
          {tabs.map(({ value, word, count }) => (
            <Tabs.Tab key={value} value={value}>
              {word}
              {count === undefined ? null : <span className={classes.count}> {formatCount(count)}</span>}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {aside}
    </div>
  )
}
