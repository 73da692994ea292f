import { Button, Switch } from '@mantine/core'
import type { ChosenMail } from '@shopwire/contract/dashboard'
import { useState } from 'react'
import { Section } from '#kit/components/feedback/page.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { api } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { mail as text } from '../../strings/mail.ts'
import { MailDialog } from './mail-dialog.tsx'
import { isReader, type Kind, type Preferences } from './mail-readers.ts'
import classes from './team.module.css'

const NAMES_SHOWN_MAX = 3

/** Which mail the account sends to whom, and what of it the reader wants. */
export function MailSection() {
  const { data, error, refetch } = useRead('getMailPreferences')
  const isOwner = useMay(may.own)
  const [changed, change] = useState<ChosenMail>()
  return (
    <Section title={text.title}>
      <DataTable
        caption={text.caption}
        what={text.what}
        columns={data ? columnsWith(data, isOwner ? change : undefined) : NO_COLUMNS}
        rows={data?.kinds}
        rowId={({ kind }) => kind}
        phone={(kind) => ({
          top: [kind.title, data ? <Own key="own" kind={kind} preferences={data} /> : null],
          bottom: [data ? recipientsOf(kind, data) : null],
        })}
        error={error}
        onRetry={() => void refetch()}
        empty={null}
        isTall
      />
      {data && changed ? (
        <MailDialog kind={changed} preferences={data} onClose={() => change(undefined)} />
      ) : null}
    </Section>
  )
}

const NO_COLUMNS: readonly Column<Kind>[] = [{ id: 'kind', header: text.columns.kind, cell: () => null }]

const columnsWith = (
  preferences: Preferences,
  onChange: ((kind: ChosenMail) => void) | undefined,
): readonly Column<Kind>[] => [
  {
    id: 'kind',
    header: text.columns.kind,
    cell: ({ title, about }) => (
      <>
        <span className="sw-strong">{title}</span>
        <div className="sw-meta">{about}</div>
      </>
    ),
  },
  {
    id: 'to',
    header: text.columns.to,
    width: '34%',
    cell: (kind) => (
      <div className={classes.recipients}>
        <span>{recipientsOf(kind, preferences)}</span>
        {onChange && isChosen(kind) ? (
          <Button
            size="compact-sm"
            aria-label={text.changeThis(kind.title)}
            onClick={() => onChange(kind.kind as ChosenMail)}
          >
            {text.change}
          </Button>
        ) : null}
      </div>
    ),
  },
  {
    id: 'you',
    header: text.columns.you,
    align: 'right',
    width: '110px',
    cell: (kind) => <Own kind={kind} preferences={preferences} />,
  },
]

const isChosen = ({ can_choose }: Kind) => can_choose

/** Names, the first few; whoever else; and why somebody gets nothing yet. */
function recipientsOf(kind: Kind, { members }: Preferences): string {
  const names = new Map(members.map(({ person_id, name }) => [person_id, name]))
  const named = (ids: readonly string[]) => {
    const all = [...ids.map((id) => names.get(id) ?? id)]
    return all.length > NAMES_SHOWN_MAX + 1
      ? [...all.slice(0, NAMES_SHOWN_MAX), text.more(all.length - NAMES_SHOWN_MAX)]
      : all
  }
  if (kind.goes_to === null) return text.toOne
  const to = [...named(kind.goes_to), ...kind.addresses].join(', ') || text.nobody
  const notes = [
    ...(kind.is_sent ? [] : [text.off]),
    ...(kind.waits_for.length > 0 ? [text.waits(named(kind.waits_for).join(', '))] : []),
  ]
  return [to, ...notes].join('. ')
}

/** The reader's own choice, where there is one. */
function Own({ kind, preferences }: { readonly kind: Kind; readonly preferences: Preferences }) {
  const name = kind.kind as ChosenMail
  const choose = useAct('setOwnMail', {
    refresh: ['getMailPreferences', 'getBalanceAlert'],
    done: (_, { is_on }) => [is_on ? text.turnedOn(kind.title) : text.turnedOff(kind.title)],
    undo:
      (_, { is_on }) =>
      () =>
        api.act('setOwnMail', { kind: name, is_on: !is_on }),
    failed: text.notChanged,
  })
  if (!isChosen(kind)) return <span className="sw-quiet">{text.always}</span>
  const you = preferences.members.find(({ is_you }) => is_you)
  const isOn = you !== undefined && isReader(kind, you.person_id)
  return (
    <Switch
      className={classes.own}
      checked={choose.isPending ? choose.variables.is_on : isOn}
      disabled={choose.isPending}
      aria-label={text.forYou(kind.title)}
      onChange={(event) => choose.mutate({ kind: name, is_on: event.currentTarget.checked })}
    />
  )
}
