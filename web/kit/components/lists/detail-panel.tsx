import { ActionIcon } from '@mantine/core'
import { media } from '@shopwire/look'
import { IconArrowLeft, IconChevronDown, IconChevronUp, IconX } from '@tabler/icons-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useKeys } from '#lib/keyboard.ts'
import { words } from '../../words.ts'
import classes from './detail-panel.module.css'

interface DetailPanelProps {
  readonly title: ReactNode
  readonly chip?: ReactNode
  readonly meta?: ReactNode
  readonly onClose: () => void
  readonly onPrevious?: (() => void) | undefined
  readonly onNext?: (() => void) | undefined
  /** One filled button, first. */
  readonly footer?: ReactNode
  readonly children: ReactNode
}

/**
 * What a row of the table is, beside the table, which stays usable: no overlay, no focus trap. `Esc` closes and gives the focus back to
 * the row. On a phone it covers the page.
 */
export function DetailPanel({
  title,
  chip,
  meta,
  onClose,
  onPrevious,
  onNext,
  footer,
  children,
}: DetailPanelProps) {
  const heading = useId()
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    // The page makes room by CSS (shell.module.css).
    document.documentElement.setAttribute('data-panel', '')
    if (window.matchMedia(media.phone).matches) panel.current?.focus()
    return () => document.documentElement.removeAttribute('data-panel')
  }, [])
  const close = () => {
    const row = document.querySelector<HTMLElement>('[data-row][data-open] [data-row-link]')
    onClose()
    row?.focus()
  }
  useKeys({ Escape: close })
  return (
    <section ref={panel} className={classes.panel} aria-labelledby={heading} tabIndex={-1}>
      <header className={classes.header}>
        <ActionIcon className={classes.back} aria-label={words.close} onClick={close}>
          <IconArrowLeft size={18} aria-hidden />
        </ActionIcon>
        <div className={classes.words}>
          <div className={classes.titleLine}>
            <h2 id={heading} className={classes.title}>
              {title}
            </h2>
            {chip}
          </div>
          {meta ? <div className={classes.meta}>{meta}</div> : null}
        </div>
        <div className={classes.tools}>
          {onPrevious || onNext ? (
            <>
              <ActionIcon aria-label={words.previous} disabled={!onPrevious} onClick={onPrevious}>
                <IconChevronUp size={16} aria-hidden />
              </ActionIcon>
              <ActionIcon aria-label={words.next} disabled={!onNext} onClick={onNext}>
                <IconChevronDown size={16} aria-hidden />
              </ActionIcon>
            </>
          ) : null}
          <ActionIcon className={classes.close} aria-label={words.close} onClick={close}>
            <IconX size={16} aria-hidden />
          </ActionIcon>
        </div>
      </header>
      {/* a scrolling region must be reachable by keyboard */}
      <div className={classes.body} tabIndex={0} role="group" aria-labelledby={heading}>
        {children}
      </div>
      {footer ? <footer className={classes.footer}>{footer}</footer> : null}
    </section>
  )
}
