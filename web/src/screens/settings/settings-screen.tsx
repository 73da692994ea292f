import { Button, SegmentedControl, Switch, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useAct } from '../../api/hooks.ts'
import { renewSession, useSession } from '../../api/session.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Id } from '../../components/id.tsx'
import { Page, Section } from '../../components/page.tsx'
import { preferences, usePreferences } from '../../lib/preferences.ts'
import { readerZone } from '../../lib/time.ts'
import { themeChoices, useTheme } from '../../shell/theme-switch.tsx'
import { words } from '../../strings/common.ts'
import { settings } from '../../strings/settings.ts'
import classes from './settings.module.css'

export function SettingsScreen() {
  const session = useSession()
  return (
    <Page title={settings.title} meta={settings.meta}>
      <div className={classes.column}>
        {session?.account ? (
          <Section title={settings.account} hasLine>
            <Row label={settings.accountName} note={settings.accountNote}>
              <span className="sw-strong">{session.account.name}</span>
            </Row>
            <Row label={settings.accountId}>
              <Id id={session.account.id} />
              <CopyButton text={session.account.id} what={settings.accountId.toLowerCase()} />
            </Row>
            <Row label={settings.accountRole}>{words.roles[session.account.role]}</Row>
          </Section>
        ) : null}
        <Section title={settings.you} hasLine>
          {session?.person ? <NameForm name={session.person.name} /> : null}
        </Section>
        <Section title={settings.device} hasLine>
          <Device />
        </Section>
      </div>
    </Page>
  )
}

function NameForm({ name }: { readonly name: string }) {
  const [text, setText] = useState(name)
  const rename = useAct('renamePerson', {
    refresh: ['getTeam'],
    done: () => [settings.saved],
    failed: settings.notSaved,
    onDone: () => void renewSession(),
  })
  return (
    <form
      className={classes.row}
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim()) rename.mutate({ name: text.trim() })
      }}
    >
      <label htmlFor="your-name" className={classes.label}>
        {settings.yourName}
        <span className={classes.note}>{settings.yourNameNote}</span>
      </label>
      <div className={classes.fields}>
        <TextInput
          id="your-name"
          value={text}
          maxLength={100}
          autoComplete="name"
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!text.trim() || text.trim() === name} loading={rename.isPending}>
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
