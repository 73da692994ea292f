import { NavLink, type NavLinkProps, UnstyledButton } from '@mantine/core'
import { openSpotlight } from '@mantine/spotlight'
import { IconSearch } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { AriaAttributes, ReactNode } from 'react'
import { Key } from '../components/lists/pager.tsx'
import { words } from '../words.ts'
import { useAttention } from './attention.ts'
import type { NavGroup } from './nav.ts'
import classes from './rail.module.css'

interface RailProps {
  readonly nav: readonly NavGroup[]
  /** Who is here: a menu. */
  readonly head: ReactNode
  readonly foot: ReactNode
  readonly onNavigate?: (() => void) | undefined
}

/** The way to every screen and the search, between who is here and the state of the store. */
export function Rail({ nav, head, foot, onNavigate }: RailProps) {
  const attention = useAttention()
  return (
    <div className={classes.rail}>
      {head}
      <UnstyledButton className={classes.find} onClick={openSpotlight}>
        <IconSearch size={15} aria-hidden />
        <span>{words.find}</span>
        <Key>{isApple ? '⌘K' : 'Ctrl K'}</Key>
      </UnstyledButton>
      <nav aria-label={words.nav.label} className={classes.nav}>
        {nav.map(({ label, items }) => (
          <div key={label ?? 'main'} role="group" aria-label={label} className={classes.group}>
            {label ? (
              <div className={classes.groupLabel} aria-hidden>
                {label}
              </div>
            ) : null}
            {items.map(({ to, label: name, icon: Icon }) => (
              <NavLink
                key={to}
                component={Link}
                to={to}
                preload="intent"
                activeOptions={{ exact: to === '/', includeSearch: false }}
                onClick={onNavigate}
                label={name}
                leftSection={<Icon size={16} stroke={1.6} aria-hidden />}
                {...attentionProps(attention.get(to))}
                className={classes.item ?? ''}
                variant="subtle"
              />
            ))}
          </div>
        ))}
      </nav>
      <footer className={classes.footer}>{foot}</footer>
    </div>
  )
}

/** The number stays out of the link's name, which would be "Deliveries3". */
function attentionProps(count = 0): Pick<NavLinkProps, 'rightSection'> & AriaAttributes {
  if (count === 0) return {}
  return {
    rightSection: (
      <span className={classes.count} aria-hidden>
        {count}
      </span>
    ),
    'aria-description': words.nav.attention(count),
  }
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)
