import { closeSpotlight, Spotlight } from '@mantine/spotlight'
import { IconHelp, IconLogout, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { Key } from '#kit/components/lists/pager.tsx'
import { themeChoices, useTheme } from '#kit/shell/theme-switch.tsx'
import { parseSearch } from '#lib/url-state.ts'
import { api, type Reply } from '../api/client.ts'
import { shell } from '../strings/shell.ts'
import { nav } from './nav.ts'
import classes from './palette.module.css'

interface Action {
  readonly id: string
  readonly label: string
  readonly icon: ReactNode
  readonly run: () => void
  readonly keys?: readonly string[]
}

const words = shell.palette
/** Six characters may be the end of an order's id; shorter texts are names of pages. */
const ID_LENGTH_MIN = 6
const PREFIX = /^(ord|evt|key|req|tra|whs|inv)_/

interface PaletteProps {
  readonly onHelp: () => void
  readonly onSignOut: () => void
}

/** ⌘K: any id, page or action. */
export function Palette({ onHelp, onSignOut }: PaletteProps) {
  const [text, setText] = useState('')
  const go = useGo()
  const wanted = text.trim()
  const looksLikeId = PREFIX.test(wanted) || wanted.length >= ID_LENGTH_MIN
  const found = useQuery({
    queryKey: ['find', wanted],
    queryFn: async ({ signal }) => (await api.read('find', { query: { q: wanted } }, signal)).matches,
    enabled: looksLikeId,
    staleTime: 10_000,
  })
  const pages = pageActions(go)
  const actions = useActions({ onHelp, onSignOut })
  const matching = (all: readonly Action[]) =>
    all.filter(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()))
  const groups = [
    [words.pages, matching(pages)],
    [words.actions, matching(actions)],
  ] as const
  const results = looksLikeId ? (found.data ?? []) : []
  // Mantine selects the first action when the text changes, and an answer comes later: a pasted id and Enter must open it.
  const openFirst = (event: KeyboardEvent) => {
    const first = results[0]
    if (event.key !== 'Enter' || !first || document.querySelector(`.${classes.action}[data-selected]`)) return
    event.preventDefault()
    closeSpotlight()
    go(first.path)
  }
  const isEmpty = results.length === 0 && groups.every(([, all]) => all.length === 0)
  return (
    <Spotlight.Root
      query={text}
      onQueryChange={setText}
      shortcut="mod + K"
      centered={false}
      size={560}
      yOffset="14vh"
      onSpotlightClose={() => setText('')}
      attributes={{ content: { 'aria-label': words.placeholder } }}
    >
      <Spotlight.Search
        onKeyDown={openFirst}
        placeholder={words.placeholder}
        aria-label={words.placeholder}
        leftSection={<IconSearch size={18} stroke={1.6} aria-hidden />}
        className={classes.search ?? ''}
      />
      <Spotlight.ActionsList className={classes.list ?? ''}>
        {results.length > 0 ? <FoundGroup results={results} onOpen={go} /> : null}
        {groups.map(([label, all]) =>
          all.length > 0 ? <ActionGroup key={label} label={label} actions={all} /> : null,
        )}
        {isEmpty ? (
          <Spotlight.Empty className={classes.empty ?? ''}>{sayNothing(looksLikeId, found)}</Spotlight.Empty>
        ) : null}
      </Spotlight.ActionsList>
      <KeyHints />
    </Spotlight.Root>
  )
}

/** To a path of ours, which may have a query. */
function useGo(): (to: string) => void {
  const navigate = useNavigate()
  return (to) => {
    const [path = '/', search = ''] = to.split('?')
    void navigate({ to: path, search: parseSearch(search) as never })
  }
}

function pageActions(go: (to: string) => void): readonly Action[] {
  return nav
    .flatMap(({ items }) => items)
    .map(({ to, label, icon: Icon, key }) => ({
      id: to,
      label,
      icon: <Icon size={16} stroke={1.6} aria-hidden />,
      run: () => go(to),
      keys: ['g', key],
    }))
}

function useActions({ onHelp, onSignOut }: PaletteProps): readonly Action[] {
  const { setColorScheme } = useTheme()
  return [
    ...themeChoices.map(([value, label, Icon]) => ({
      id: value,
      label: `${shell.account.theme}: ${label}`,
      icon: <Icon size={16} stroke={1.6} aria-hidden />,
      run: () => setColorScheme(value),
    })),
    {
      id: 'help',
      label: words.help,
      icon: <IconHelp size={16} stroke={1.6} aria-hidden />,
      run: onHelp,
      keys: ['?'],
    },
    {
      id: 'sign-out',
      label: shell.account.signOut,
      icon: <IconLogout size={16} stroke={1.6} aria-hidden />,
      run: onSignOut,
    },
  ]
}

function FoundGroup({
  results,
  onOpen,
}: {
  readonly results: Reply<'find'>['matches']
  readonly onOpen: (path: string) => void
}) {
  return (
    <Spotlight.ActionsGroup label={words.found} className={classes.group ?? ''}>
      {results.map(({ kind, id, about, path }) => (
        <Spotlight.Action key={`${kind}-${id}`} onClick={() => onOpen(path)} className={classes.action ?? ''}>
          <span className={classes.found}>
            <span className="sw-strong">
              {words.kinds[kind]}
              {about ? `: ${about}` : ''}
            </span>
            <span className="sw-meta sw-mono">{id}</span>
          </span>
        </Spotlight.Action>
      ))}
    </Spotlight.ActionsGroup>
  )
}

function ActionGroup({ label, actions }: { readonly label: string; readonly actions: readonly Action[] }) {
  return (
    <Spotlight.ActionsGroup label={label} className={classes.group ?? ''}>
      {actions.map(({ id, label: name, icon, run, keys }) => (
        <Spotlight.Action key={id} onClick={run} className={classes.action ?? ''}>
          <span className={classes.icon}>{icon}</span>
          <span className={classes.name}>{name}</span>
          {keys?.map((key) => (
            <Key key={key}>{key}</Key>
          ))}
        </Spotlight.Action>
      ))}
    </Spotlight.ActionsGroup>
  )
}

const KeyHints = () => (
  <Spotlight.Footer className={classes.footer ?? ''}>
    <span>
      <Key>↑</Key> <Key>↓</Key> {words.hint.move}
    </span>
    <span>
      <Key>↵</Key> {words.hint.open}
    </span>
    <span>
      <Key>Esc</Key> {words.hint.close}
    </span>
  </Spotlight.Footer>
)

function sayNothing(
  looksLikeId: boolean,
  { isFetching, isError }: { isFetching: boolean; isError: boolean },
): string {
  if (!looksLikeId) return words.tooShort
  if (isFetching) return words.looking
  return isError ? words.failed : words.nothing
}
