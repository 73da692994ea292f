import { Button, SegmentedControl, Switch, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Page, Section } from '#kit/components/feedback/page.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { themeChoices, useTheme } from '#kit/shell/theme-switch.tsx'
import { preferences, usePreferences } from '#lib/preferences.ts'
import { readerZone } from '#lib/time.ts'
import { api } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { refreshSession, useSession } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { roles } from '../../strings/roles.ts'
import { settings } from '../../strings/settings.ts'
import classes from './settings.module.css'

export function SettingsScreen() {
  const session = useSession()
  return (
    <Page title={settings.title} meta={settings.meta}>
      <div className={classes.column}>
        {session?.account ? (
          <Section title={settings.account} hasLine>
            {session.account.role === 'owner' ? (
              <AccountNameForm
                key={`${session.account.id} ${session.account.name}`}
                name={session.account.name}
              />
            ) : (
              <Row label={settings.accountName} note={settings.accountNote}>
                <span className="sw-strong">{session.account.name}</span>
              </Row>
            )}
            <Row label={settings.accountId}>
              <Id id={session.account.id} />
              <CopyButton text={session.account.id} what={settings.accountId.toLowerCase()} />
            </Row>
            <Row label={settings.accountRole}>{roles[session.account.role]}</Row>
          </Section>
        ) : null}
        <Section title={settings.you} hasLine>
          {session?.person ? <NameForm key={session.person.name} name={session.person.name} /> : null}
          {session?.account ? (
            <Row label={settings.mail} note={settings.mailNote}>
              <AppLink to={paths.team}>{settings.chooseMail}</AppLink>
            </Row>
          ) : null}
        </Section>
        <Section title={settings.device} hasLine>
          <Device />
        </Section>
      </div>
    </Page>
  )
}

function AccountNameForm({ name }: { readonly name: string }) {
  const rename = useAct('renameAccount', {
    done: () => [settings.saved],
    undo: () => () => api.act('renameAccount', { name }).then(refreshSession),
    failed: settings.notSaved,
    onDone: () => void refreshSession(),
  })
  return (
    <NameField
      id="account-name"
      label={settings.accountName}
      note={settings.accountNoteOwner}
      name={name}
      isBusy={rename.isPending}
      onSave={(next) => rename.mutate({ name: next })}
    />
  )
}

function NameForm({ name }: { readonly name: string }) {
  const rename = useAct('renamePerson', {
    refresh: ['getTeam'],
    done: () => [settings.saved],
    undo: () => () => api.act('renamePerson', { name }).then(refreshSession),
    failed: settings.notSaved,
    onDone: () => void refreshSession(),
  })
  return (
    <NameField
      id="your-name"
      label={settings.yourName}
      note={settings.yourNameNote}
      name={name}
      isBusy={rename.isPending}
      autoComplete="name"
      onSave={(next) => rename.mutate({ name: next })}
    />
  )
}

interface NameFieldProps {
  readonly id: string
  readonly label: string
  readonly note: string
  readonly name: string
  readonly isBusy: boolean
  readonly autoComplete?: string
  readonly onSave: (name: string) => void
}

function NameField({ id, label, note, name, isBusy, autoComplete = 'off', onSave }: NameFieldProps) {
  const [text, setText] = useState(name)
  return (
    <form
      className={classes.row}
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim()) onSave(text.trim())
      }}
    >
      <label htmlFor={id} className={classes.label}>
        {label}
        <span className={classes.note}>{note}</span>
      </label>
      <div className={classes.fields}>
        <TextInput
          id={id}
          value={text}
          maxLength={100}
          autoComplete={autoComplete}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!text.trim() || text.trim() === name} loading={isBusy}>
          {settings.save}
        </Button>
      </div>
    </form>
  )
}

function Device() {
  const { zone, shortcuts } = usePreferences()
  const { colorScheme, setColorScheme } = useTheme()
  return (
    <>
      <Row label={settings.theme}>
        <SegmentedControl
          size="xs"
          aria-label={settings.theme}
          value={colorScheme}
          onChange={(value) => setColorScheme(value as typeof colorScheme)}
          data={themeChoices.map(([value, label]) => ({ value, label }))}
        />
      </Row>
      <Row label={settings.zone} note={settings.zoneNote}>
        <SegmentedControl
          size="xs"
          aria-label={settings.zone}
          value={zone}
          onChange={(value) => preferences.set({ zone: value as typeof zone })}
          data={[
            { value: 'reader', label: settings.zoneReader(readerZone()) },
            { value: 'utc', label: settings.zoneUtc },
          ]}
        />
      </Row>
      <Row label={settings.shortcuts} note={settings.shortcutsNote}>
        <Switch
          checked={shortcuts}
          onChange={(event) => preferences.set({ shortcuts: event.currentTarget.checked })}
          aria-label={settings.shortcuts}
        />
      </Row>
    </>
  )
}

function Row({
  label,
  note,
  children,
}: {
  readonly label: string
  readonly note?: string
  readonly children: ReactNode
}) {
  return (
    <div className={classes.row}>
      <div className={classes.label}>
        {label}
        {note ? <span className={classes.note}>{note}</span> : null}
      </div>
      <div className={classes.fields}>{children}</div>
    </div>
  )
}
