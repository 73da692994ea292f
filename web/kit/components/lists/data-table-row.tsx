import { type CSSProperties, type MouseEvent, memo, type ReactNode } from 'react'
import { words } from '../../words.ts'
import { AppLink } from '../values/app-link.tsx'
import classes from './data-table.module.css'

export interface Column<Row> {
  readonly id: string
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Right and tabular: amounts, counts, durations, times. */
  readonly align?: 'left' | 'right'
  /** A CSS width. Without one, columns share what is left. */
  readonly width?: string
  /** Without a width: takes what is left and never more, so that a long text ends in an ellipsis. */
  readonly isBounded?: boolean
  /** Makes the header a button that sorts what is loaded. Only for lists that are loaded whole. */
  readonly sortBy?: (row: Row) => string | number
  /** Left out on narrower screens, or while a panel is open beside the table. */
  readonly hideBelow?: 'md' | 'lg'
  /** For a column whose header needs no words, like a menu. */
  readonly isHeaderHidden?: boolean
}

interface LineProps {
  readonly id: string
  readonly row: object
  readonly columns: readonly Column<never>[]
  readonly to: string | undefined
  readonly onOpen: ((row: object) => void) | undefined
  readonly isOpen: boolean
  readonly isQuiet: boolean
  readonly isGone: boolean
  /** Undefined: rows are not selected here. */
  readonly isSelected: boolean | undefined
  readonly onSelect: (id: string, isRange: boolean) => void
  /** Times are shown by the day: the next day, every row is drawn again. */
  readonly today: string
}

/** One row, drawn again only when it has changed: a live list is read again every few seconds, and mostly says the same. */
export const Line = memo(function Line({
  id,
  row,
  columns,
  to,
  onOpen,
  isOpen,
  isQuiet,
  isGone,
  isSelected,
  onSelect,
}: LineProps) {
  const canOpen = to !== undefined || onOpen !== undefined
  return (
    <tr
      className={classes.row}
      data-row={id}
      data-open={isOpen || undefined}
      data-quiet={isQuiet || isGone || undefined}
      data-can-open={canOpen || undefined}
      data-selected={isSelected || undefined}
      onClick={canOpen ? openFromRow : undefined}
    >
      {isSelected === undefined ? null : (
        <td className={classes.select}>
          <SelectBox
            label={words.selection.row(id)}
            isSelected={isSelected}
            onToggle={(isRange) => onSelect(id, isRange)}
          />
        </td>
      )}
      {columns.map((column, index) => (
        <td key={column.id} {...cellProps(column)}>
          {index === 0 ? (
            <RowLink to={to} onOpen={onOpen && (() => onOpen(row))} isOpen={isOpen}>
              {column.cell(row as never)}
              {isGone ? <span className={classes.gone}>{words.noLongerListed}</span> : null}
            </RowLink>
          ) : (
            column.cell(row as never)
          )}
        </td>
      ))}
    </tr>
  )
})

interface SelectBoxProps {
  readonly label: string
  readonly isSelected: boolean
  readonly isPartly?: boolean
  /** `isRange`: with Shift. */
  readonly onToggle: (isRange: boolean) => void
}

/** A plain box: Mantine's would be most of what a table of fifty rows takes to draw. */
export function SelectBox({ label, isSelected, isPartly = false, onToggle }: SelectBoxProps) {
  return (
    <label className={classes.selectBox}>
      <input
        type="checkbox"
        aria-label={label}
        checked={isSelected}
        ref={(box) => {
          if (box) box.indeterminate = isPartly
        }}
        // Otherwise the text between two clicks is selected too.
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
        onChange={(event) => onToggle((event.nativeEvent as globalThis.MouseEvent).shiftKey)}
      />
    </label>
  )
}

interface RowLinkProps {
  readonly to: string | undefined
  readonly onOpen: (() => void) | undefined
  readonly isOpen: boolean
  readonly children: ReactNode
}

/** What opens a row: a link, a button, or nothing. */
export function RowLink({ to, onOpen, isOpen, children }: RowLinkProps) {
  if (to !== undefined) {
    return (
      <AppLink to={to} className={classes.link} data-row-link>
        {children}
      </AppLink>
    )
  }
  if (!onOpen) return children
  return (
    <button type="button" className={classes.link} data-row-link aria-pressed={isOpen} onClick={onOpen}>
      {children}
    </button>
  )
}

/** Of the cells of a column, its head among them. */
export function cellProps<Row>(column: Column<Row> | undefined): {
  style?: CSSProperties
  'data-sized'?: true
  'data-align'?: 'right'
  'data-hide'?: string
} {
  return {
    ...(column?.width
      ? {
          'data-sized': true,
          // With a share of the width, a long text ends in an ellipsis instead of taking more.
          style: { width: column.width, ...(column.width.endsWith('%') ? { maxWidth: 0 } : {}) },
        }
      : {}),
    ...(column?.isBounded ? { style: { maxWidth: 0 } } : {}),
    ...(column?.align === 'right' ? { 'data-align': 'right' as const } : {}),
    ...(column?.hideBelow ? { 'data-hide': column.hideBelow } : {}),
  }
}

/** A click anywhere in the row is a click on its link, unless something in the row was meant or text is being selected. */
function openFromRow(event: MouseEvent<HTMLTableRowElement>): void {
  const target = event.target as Element
  if (target.closest('a, button, input, label, [role="menu"], [role="dialog"]')) return
  if (window.getSelection()?.toString()) return
  event.currentTarget.querySelector<HTMLElement>('[data-row-link]')?.click()
}
