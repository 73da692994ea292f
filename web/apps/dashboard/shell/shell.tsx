import { Burger, Drawer, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { openSpotlight } from '@mantine/spotlight'
import { IconDoorOff, IconSearch, IconWifiOff } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import {
  Fragment,
  lazy,
  type MouseEvent,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useSyncExternalStore,
} from 'react'
import { RoleHelp } from '#kit/components/feedback/states.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { forgetAttention } from '#kit/shell/attention.ts'
import { KeyHelp } from '#kit/shell/key-help.tsx'
import { Mark } from '#kit/shell/mark.tsx'
import classes from '#kit/shell/shell.module.css'
import { words } from '#kit/words.ts'
import { useKeys } from '#lib/keyboard.ts'
import { focusMain, MAIN } from '#lib/main-content.ts'
import { loadPart } from '#lib/missing-part.ts'
import { openLive } from '../api/live.ts'
import { refreshSession, type Session } from '../api/session.ts'
import { paths } from '../paths.ts'
import { noPermission, roles } from '../strings/roles.ts'
import { shell } from '../strings/shell.ts'
import { DashboardRail } from './dashboard-rail.tsx'
import { nav } from './nav.ts'
import { NoAccount } from './no-account.tsx'
import { type StoreState, useStoreState } from './store-state.ts'
import { useSignOut } from './use-sign-out.ts'

// After the frame: nobody searches before there is something on the page.
const Palette = lazy(async () => ({ default: (await loadPart(() => import('./palette.tsx'))).Palette }))

/** Everything around a screen, for somebody who is signed in. */
export function Shell({ session, children }: { readonly session: Session; readonly children: ReactNode }) {
  const [isNavOpen, navDrawer] = useDisclosure(false)
  const [isHelpOpen, help] = useDisclosure(false)
  const store = useStoreState(session.account !== null)
  const signOut = useSignOut()
  const client = useQueryClient()
  const account_id = session.account?.id
  const last = useRef<string>(undefined)
  if (session.account) last.current = session.account.name
  useEffect(
    () => (account_id ? openLive(client, () => void refreshSession()) : undefined),
    [client, account_id],
  )
  useEffect(() => (account_id ? forgetAttention : undefined), [account_id])
  useGoToKeys()
  useKeys({ '?': () => help.open() })
  useFocusAfterNavigation()
  return (
    // Mantine's AppShell writes a style element at run time, which the policy refuses; two boxes need none.
    <div className={classes.shell}>
      <a href={`#${MAIN}`} className={classes.skip} onClick={skipToMain}>
        {words.nav.skip}
      </a>
      <div className={`${classes.navbar} sw-screen-only`}>
        <DashboardRail session={session} store={store} onSignOut={signOut} />
      </div>
      <main id={MAIN} tabIndex={-1} className={classes.main}>
        <header className={`${classes.bar} sw-screen-only`}>
          <Burger
            opened={isNavOpen}
            onClick={navDrawer.toggle}
            size="sm"
            lineSize={1.5}
            aria-label={words.nav.open}
          />
          <Mark />
          <span className={classes.barName}>{session.account?.name}</span>
          <UnstyledButton className={classes.barFind} aria-label={words.find} onClick={openSpotlight}>
            <IconSearch size={20} stroke={1.6} aria-hidden />
          </UnstyledButton>
        </header>
        <OfflineBanner />
        <StoreBanner store={store} />
        {session.account ? (
          // What was typed or opened in one account does not stay on the screen of another.
          <RoleHelp value={roleHelp(session.account.role)}>
            <Fragment key={account_id}>{children}</Fragment>
          </RoleHelp>
        ) : (
          <NoAccount lost={last.current} others={session.accounts} onSignOut={signOut} />
        )}
      </main>
      <Drawer.Root opened={isNavOpen} onClose={navDrawer.close} size={264} padding={0}>
        <Drawer.Overlay />
        <Drawer.Content aria-label={words.nav.label}>
          <Drawer.Body className={classes.drawerBody ?? ''}>
            <DashboardRail session={session} store={store} onSignOut={signOut} onNavigate={navDrawer.close} />
          </Drawer.Body>
        </Drawer.Content>
      </Drawer.Root>
      <Suspense>
        <Palette onHelp={help.open} onSignOut={signOut} />
      </Suspense>
      <KeyHelp nav={nav} isOpen={isHelpOpen} onClose={help.close} />
    </div>
  )
}

const roleHelp = (role: keyof typeof roles) => ({
  body: noPermission.body(roles[role]),
  action: <AppLink to={paths.team}>{noPermission.action}</AppLink>,
})

/** Not by following the link: the address belongs to the router. */
function skipToMain(event: MouseEvent<HTMLAnchorElement>): void {
  event.preventDefault()
  focusMain()
}

function OfflineBanner() {
  const isOnline = useSyncExternalStore(onNetworkChange, () => navigator.onLine)
  if (isOnline) return null
  return (
    <div className={classes.banner} role="status">
      <IconWifiOff size={17} stroke={1.6} aria-hidden />
      <p>
        <strong>{words.offline.banner}</strong> {words.offline.bannerMore}
      </p>
    </div>
  )
}

function onNetworkChange(listener: () => void): () => void {
  for (const name of ['online', 'offline']) window.addEventListener(name, listener)
  return () => {
    for (const name of ['online', 'offline']) window.removeEventListener(name, listener)
  }
}

function StoreBanner({ store }: { readonly store: StoreState | undefined }) {
  if (!store || store.is_open) return null
  return (
    <div className={classes.banner} role="status">
      <IconDoorOff size={17} stroke={1.6} aria-hidden />
      <p>
        <strong>{shell.store.banner}</strong> {store.reason ? `${store.reason}. ` : ''}
        {shell.store.bannerMore} {shell.store.since} <Time at={store.since} as="short" />
        {store.opens_at ? (
          <>
            , {shell.store.opens} <Time at={store.opens_at} as="short" />
          </>
        ) : null}
        .
      </p>
    </div>
  )
}

function useGoToKeys(): void {
  const navigate = useNavigate()
  useKeys(
    Object.fromEntries(
      nav.flatMap(({ items }) => items).map(({ key, to }) => [`g ${key}`, () => void navigate({ to })]),
    ),
  )
}

/** A new screen is read from its start, by screen readers too. A changed filter is not a new screen. */
function useFocusAfterNavigation(): void {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onResolved', ({ pathChanged, fromLocation }) => {
        if (pathChanged && fromLocation) focusMain()
      }),
    [router],
  )
}
