import { Menu, UnstyledButton } from '@mantine/core'
import { IconCheck, IconLogout, IconSelector } from '@tabler/icons-react'
import { Mark } from '#kit/shell/mark.tsx'
import classes from '#kit/shell/rail.module.css'
import { Rail } from '#kit/shell/rail.tsx'
import { ThemeItems } from '#kit/shell/theme-switch.tsx'
import type { Session } from '../api/session.ts'
import { roles } from '../strings/roles.ts'
import { shell } from '../strings/shell.ts'
import { docsItem, nav } from './nav.ts'
import type { StoreState } from './store-state.ts'
import { switchAccount } from './switch-account.ts'

interface RailProps {
  readonly session: Session
  readonly store: StoreState | undefined
  readonly onSignOut: () => void
  readonly onNavigate?: (() => void) | undefined
}

/** The account, the search, every screen, and the state of the store. */
export function DashboardRail({ session, store, onSignOut, onNavigate }: RailProps) {
  return (
    <Rail
      nav={nav}
      head={<AccountMenu session={session} onSignOut={onSignOut} />}
      foot={<StoreFoot store={store} />}
      onNavigate={onNavigate}
    />
  )
}

function StoreFoot({ store }: Pick<RailProps, 'store'>) {
  return (
    <>
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
    </>
  )
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
          className={classes.person}
          aria-label={`${account?.name ?? shell.account.none}. ${shell.account.switch}`}
        >
          <Mark />
          <span className={classes.personName}>{account?.name ?? shell.account.none}</span>
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
                    <span className="sw-meta">{roles[role as keyof typeof roles]}</span>
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
