import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDots, IconKey } from '@tabler/icons-react'
import { Section } from '#kit/components/feedback/page.tsx'
import { Time } from '#kit/components/values/time.tsx'
import type { Reply } from '../../api/client.ts'
import { security as words } from '../../strings/security.ts'
import classes from './security.module.css'
import type { SecurityDecision } from './security-dialogs.tsx'

interface PasskeysProps {
  readonly passkeys: Reply<'getSecurity'>['passkeys']
  readonly onDecide: (decision: SecurityDecision) => void
}

export function Passkeys({ passkeys, onDecide }: PasskeysProps) {
  return (
    <Section
      title={words.passkeys}
      hasLine
      aside={
        <Button
          variant="filled"
          leftSection={<IconKey size={15} aria-hidden />}
          onClick={() => onDecide({ kind: 'add-passkey' })}
        >
          {words.addPasskey}
        </Button>
      }
    >
      <ul>
        {passkeys.length === 0 ? <li className={classes.way}>{words.passkeysNone}</li> : null}
        {passkeys.map((passkey) => (
          <li key={passkey.id} className={classes.way}>
            <div className={classes.wayWords}>
              <div className="sw-strong">{passkey.name}</div>
              <div className={classes.wayState}>
                {passkey.is_synced ? words.synced : words.oneDevice}, {words.created}{' '}
                <Time at={passkey.created_at} as="day" />,{' '}
                {passkey.last_used_at ? (
                  <>
                    {words.used} <Time at={passkey.last_used_at} as="relative" />
                  </>
                ) : (
                  words.neverUsed.toLowerCase()
                )}
              </div>
            </div>
            <Menu>
              <Menu.Target>
                <ActionIcon aria-label={words.menuOf(passkey.name)}>
                  <IconDots size={16} aria-hidden />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item
                  onClick={() => onDecide({ kind: 'rename-passkey', id: passkey.id, name: passkey.name })}
                >
                  {words.rename}
                </Menu.Item>
                <Menu.Item
                  color="red"
                  onClick={() => onDecide({ kind: 'remove-passkey', id: passkey.id, name: passkey.name })}
                >
                  {words.remove}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </li>
        ))}
      </ul>
    </Section>
  )
}
