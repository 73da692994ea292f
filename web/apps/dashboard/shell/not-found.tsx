import { Button } from '@mantine/core'
import { openSpotlight } from '@mantine/spotlight'
import { Link } from '@tanstack/react-router'
import { Page } from '#kit/components/feedback/page.tsx'
import { paths } from '../paths.ts'
import classes from '../session/session.module.css'
import { SignedIn } from '../session/signed-in.tsx'
import { shell } from '../strings/shell.ts'

/** Inside the shell: who is signed in can go on from here. */
export function NotFound() {
  return (
    <SignedIn>
      <NothingHere />
    </SignedIn>
  )
}

/** Also for an id that this account does not have. */
export function NothingHere() {
  const { title, body, home, find } = shell.notFound
  return (
    <Page title={title} meta={body}>
      <div className={classes.row}>
        <Button variant="filled" component={Link} to={paths.home}>
          {home}
        </Button>
        <Button onClick={openSpotlight}>{find}</Button>
      </div>
    </Page>
  )
}
