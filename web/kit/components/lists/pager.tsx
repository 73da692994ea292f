import { Button } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useUrlState } from '#lib/url-state.ts'
import { words } from '../../words.ts'
import classes from './data-table.module.css'

export interface Paging {
  readonly onNewer: (() => void) | undefined
  readonly onOlder: (() => void) | undefined
  /** "1 to 25 of 1,742". */
  readonly range?: ReactNode
}

/** Keyset paging from the address: pass `next` and `previous` of the reply. */
export function usePaging(
  reply: { readonly next: string | null; readonly previous: string | null } | undefined,
  range?: ReactNode,
): Paging {
  const [, set] = useUrlState()
  const { next = null, previous = null } = reply ?? {}
  return {
    onNewer:
      previous === null ? undefined : () => set({ after: previous, before: undefined, open: undefined }),
    onOlder: next === null ? undefined : () => set({ before: next, after: undefined, open: undefined }),
    range,
  }
}

interface PagerProps {
  readonly paging: Paging
  readonly hasKeys: boolean
  readonly canSelect?: boolean
}

export function Pager({ paging, hasKeys, canSelect = false }: PagerProps) {
  const { onNewer, onOlder, range } = paging
  const hasPages = onNewer !== undefined || onOlder !== undefined
  return (
    <div className={classes.pager}>
      <div className={classes.hints}>
        {range ? <span>{range}</span> : null}
        {hasKeys ? (
          <>
            <span>
              <Key>j</Key> <Key>k</Key> {words.keys.move}
            </span>
            <span>
              <Key>↵</Key> {words.keys.open}
            </span>
            <span>
              <Key>c</Key> {words.keys.copyId}
            </span>
            {canSelect ? (
              <span>
                <Key>x</Key> {words.keys.select}
              </span>
            ) : null}
          </>
        ) : null}
      </div>
      {hasPages ? (
        <div className={classes.pages}>
          <Button
            size="compact-sm"
            disabled={!onNewer}
            onClick={onNewer}
            leftSection={<IconChevronLeft size={14} aria-hidden />}
          >
            {words.newer}
          </Button>
          <Button
            size="compact-sm"
            disabled={!onOlder}
            onClick={onOlder}
            rightSection={<IconChevronRight size={14} aria-hidden />}
          >
            {words.older}
          </Button>
        </div>
      ) : null}
    </div>
  )
}

/** A key cap. */
export const Key = ({ children }: { readonly children: ReactNode }) => (
  <kbd className={classes.key}>{children}</kbd>
)
