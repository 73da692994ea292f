import { Button, Group } from '@mantine/core'
import { Page } from '#kit/components/feedback/page.tsx'
import type { Session } from '../api/session.ts'
import { shell } from '../strings/shell.ts'
import { switchAccount } from './switch-account.ts'

interface NoAccountProps {
  /** Where the reader has just been, if this page was open then. */
  readonly lost: string | undefined
  readonly others: Session['accounts']
  readonly onSignOut: () => void
}

/** For somebody who is signed in and was removed: what happened, why, and where to go from here. */
export function NoAccount({ lost, others, onSignOut }: NoAccountProps) {
  const { account: said } = shell
  const title = lost === undefined ? said.noneTitle : said.lostTitle(lost)
  return (
    <Page title={title}>
      <p role="alert">{others.length === 0 ? said.lostBody : `${said.lostBody} ${said.lostOthers}`}</p>
      <Group gap={8} mt="md">
        {others.map(({ id, name }, index) => (
          <Button
            key={id}
            variant={index === 0 ? 'filled' : 'default'}
            onClick={() => void switchAccount(id, name)}
          >
            {said.goTo(name)}
          </Button>
        ))}
        <Button onClick={onSignOut}>{said.signOut}</Button>
      </Group>
    </Page>
  )
}
