import { Menu, NavLink, type NavLinkProps, UnstyledButton } from '@mantine/core'
import { openSpotlight } from '@mantine/spotlight'
import { IconCheck, IconLogout, IconSearch, IconSelector } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { AriaAttributes } from 'react'
import type { Session } from '../api/session.ts'
import { Key } from '../components/lists/pager.tsx'
import { paths } from '../paths.ts'
import { words } from '../strings/common.ts'
import { shell } from '../strings/shell.ts'
import { useAttention } from './attention.ts'
import { Mark } from './mark.tsx'
import { docsItem, nav } from './nav.ts'
import classes from './rail.module.css'
import type { StoreState } from './store-state.ts'
import { switchAccount } from './switch-account.ts'
import { ThemeItems } from './theme-switch.tsx'

interface RailProps {
  readonly session: Session
  readonly store: StoreState | undefined
  readonly onSignOut: () => void
  readonly onNavigate?: (() => void) | undefined
}

/** The account, the search, every screen, and the state of the store. */
export function Rail({ session, store, onSignOut, onNavigate }: RailProps) {
  const attention = useAttention()
  return (
    <div className={classes.rail}>
      <AccountMenu session={session} onSignOut={onSignOut} />
      <UnstyledButton className={classes.find} onClick={openSpotlight}>
        <IconSearch size={15} aria-hidden />
        <span>{shell.find}</span>
        <Key>{isApple ? '⌘K' : 'Ctrl K'}</Key>
      </UnstyledButton>
      <nav aria-label={shell.nav.label} className={classes.nav}>
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
                activeOptions={{ exact: to === paths.home, includeSearch: false }}
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
      <footer className={classes.footer}>
        {store ? (
          <div className={classes.state} data-open={store.is_open && store.api === 'up'}>
            <span className={classes.dot} aria-hidden />
            {storeWords(store)}
          </div>
        ) : null}
        <div className={classes.foot}>
          {store?.docs_url ? (
            <a href={store.docs_url} target="_blank" rel="noreferrer" className={classes.docs}>
              <docsItem.icon size={14} stroke={1.6} aria-hidden />
              {docsItem.label}
            </a>
          ) : (
            <span />
          )}
          <span>{store?.version ? `v${store.version}` : ''}</span>
        </div>
      </footer>
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
    'aria-description': shell.nav.attention(count),
  }
}

function storeWords(store: StoreState): string {
  if (!store.is_open) return shell.store.closed
  return store.api === 'up' ? shell.store.open : shell.store.degraded
}

function AccountMenu({ session, onSignOut }: Pick<RailProps, 'session' | 'onSignOut'>) {
  const { account, accounts, person } = session
  return (
    <Menu position="bottom-start" width={248}>
      <Menu.Target>
        <UnstyledButton
          className={classes.account}
          aria-label={`${account?.name ?? shell.account.none}. ${shell.account.switch}`}
        >
          <Mark />
          <span className={classes.accountName}>{account?.name ?? shell.account.none}</span>
          <IconSelector size={14} aria-hidden className={classes.selector} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {accounts.some(({ id }) => id !== account?.id) ? (
          <>
            <Menu.Label>{shell.account.other}</Menu.Label>
            {accounts.map(({ id, name, role }) => (
              <Menu.Item
                key={id}
                onClick={() => id !== account?.id && void switchAccount(id, name)}
                rightSection={
                  id === account?.id ? (
                    <IconCheck size={14} aria-label="Current" />
                  ) : (
                    <span className="sw-meta">{words.roles[role as keyof typeof words.roles]}</span>
                  )
                }
              >
                {name}
              </Menu.Item>
            ))}
            <Menu.Divider />
          </>
        ) : null}
        <Menu.Label>{shell.account.theme}</Menu.Label>
        <ThemeItems />
        <Menu.Divider />
        <Menu.Label>{shell.account.signedInAs(person?.email ?? '')}</Menu.Label>
        <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={onSignOut}>
          {shell.account.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)
