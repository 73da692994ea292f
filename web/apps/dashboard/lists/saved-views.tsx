import { Button, Menu } from '@mantine/core'
import { IconBookmark, IconChevronDown } from '@tabler/icons-react'
import { lazy, Suspense, useState } from 'react'
import { words } from '#kit/words.ts'
import { loadPart } from '#lib/missing-part.ts'
import { useUrlState } from '#lib/url-state.ts'
import { useRead } from '../api/hooks.ts'
import { views as text } from '../strings/views.ts'
import { filtersIn, queryOf, type View } from './view-filters.ts'
import classes from './views.module.css'

/** Few press them, and they bring the forms along. */
const ViewDialogs = lazy(() => loadPart(() => import('./view-dialogs.tsx')))

interface SavedViewsProps {
  readonly list: View['list']
  /** Names in the address that a view of this list has. */
  readonly names: readonly string[]
}

/** One's own saved filters of a list, as a menu beside its filters. */
export function SavedViews({ list, names }: SavedViewsProps) {
  const [url, set] = useUrlState()
  const { data, error, refetch } = useRead('listViews')
  const [isAsked, ask] = useState<'save' | 'manage'>()
  const views = data?.views.filter((one) => one.list === list)
  const here = queryOf(url, names)
  const current = views?.find(({ query }) => queryOf(filtersIn(query, names), names) === here)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            className={classes.target}
            leftSection={<IconBookmark size={14} aria-hidden />}
            rightSection={<IconChevronDown size={14} aria-hidden />}
            aria-label={current ? text.menuOf(current.name) : undefined}
          >
            <span className={classes.name}>{current?.name ?? text.menu}</span>
          </Button>
        </Menu.Target>
        <Menu.Dropdown className={classes.menu}>
          {views === undefined ? (
            error ? (
              <Menu.Item onClick={() => void refetch()}>{text.notLoaded}</Menu.Item>
            ) : (
              <Menu.Label>{words.loading}</Menu.Label>
            )
          ) : null}
          {views?.length === 0 ? <Menu.Label>{text.none}</Menu.Label> : null}
          {views?.map(({ id, name, query }) => (
            <Menu.Item
              key={id}
              className={classes.name}
              aria-current={id === current?.id || undefined}
              onClick={() => set(filtersIn(query, names))}
            >
              {name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item disabled={here === '' || current !== undefined} onClick={() => ask('save')}>
            {text.save}
          </Menu.Item>
          {views && views.length > 0 ? (
            <Menu.Item onClick={() => ask('manage')}>{text.manage}</Menu.Item>
          ) : null}
        </Menu.Dropdown>
      </Menu>
      {isAsked ? (
        <Suspense fallback={null}>
          <ViewDialogs
            asked={isAsked}
            list={list}
            query={here}
            views={views ?? []}
            onClose={() => ask(undefined)}
          />
        </Suspense>
      ) : null}
    </>
  )
}
