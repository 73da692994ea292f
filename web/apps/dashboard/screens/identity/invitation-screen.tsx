import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { showDone } from '#kit/components/feedback/toasts.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { dropToken, takeToken } from '#lib/token.ts'
import { api, type Reply } from '../../api/client.ts'
import { leaveAccount, renewSession, type Session, sessionQuery } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { holdPassword } from '../../session/held-password.ts'
import { newPasswordError } from '../../session/new-password.ts'
import { PublicPage } from '../../session/public-page.tsx'
import classes from '../../session/session.module.css'
import { useSignOut } from '../../shell/use-sign-out.ts'
import { identity } from '../../strings/identity.ts'
import { roles } from '../../strings/roles.ts'

type Invitation = Reply<'openInvitation'>

const words = identity.invitation

/** From the mailed link to a seat in the account. The second factor comes right after, before anything else opens. */
export function InvitationScreen() {
  const [token] = useState(() => takeToken('invitation'))
  const { data: session } = useQuery(sessionQuery)
  const invitation = useQuery({
    queryKey: ['openInvitation', token],
    queryFn: () => api.act('openInvitation', { token }),
    enabled: token !== '' && session !== undefined,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!token)
    return (
      <PublicPage
        title={words.failed}
        lead={words.noToken}
        foot={<AppLink to={paths.signIn}>{identity.signIn.title}</AppLink>}
      />
    )
  if (invitation.error) {
    return (
      <PublicPage
        title={words.failed}
        lead={`${invitation.error.message} ${words.failedMore}`}
        foot={<AppLink to={paths.signIn}>{identity.signIn.title}</AppLink>}
      />
    )
  }
  if (!invitation.data || !session) return <PublicPage title="" lead={words.loading} />
  const { account_name, inviter_name, role, expires_at } = invitation.data
  return (
    <PublicPage
      title={words.title(account_name)}
      lead={role === null ? words.leadOperator : words.lead(inviter_name, roles[role])}
      foot={
        <>
          {words.expires} <Time at={expires_at} />.
        </>
      }
    >
      <Accept token={token} invitation={invitation.data} session={session} />
    </PublicPage>
  )
}

interface AcceptProps {
  readonly token: string
  readonly invitation: Invitation
  readonly session: Session
}

function Accept({ token, invitation, session }: AcceptProps) {
  const { email, is_known_person, account_name } = invitation
  const navigate = useNavigate()
  const signOut = useSignOut()
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const signedIn = session.person?.email
  const isInvited = signedIn?.toLowerCase() === email.toLowerCase()
  const accept = async (newPerson: { readonly name?: string; readonly password?: string } = {}) => {
    setBusy(true)
    setError(undefined)
    try {
      const { next } = await api.act('acceptInvitation', { token, ...newPerson })
      dropToken('invitation')
      if (next === 'enrol' && newPerson.password) holdPassword(newPerson.password)
      // The session is in the new account now, also for somebody who was in another one.
      leaveAccount()
      await renewSession()
      showDone(words.joined(account_name))
      await navigate({ to: paths.home })
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
    } finally {
      setBusy(false)
    }
  }
  const problem = error ? (
    <p className={classes.error} role="alert">
      {error}
    </p>
  ) : null
  if (signedIn && !isInvited) {
    return (
      <div className={classes.form}>
        <p>{words.other(signedIn)}</p>
        <Button variant="filled" onClick={signOut}>
          {words.signOut}
        </Button>
      </div>
    )
  }
  if (signedIn) {
    return (
      <div className={classes.form}>
        {problem}
        <Button variant="filled" fullWidth autoFocus loading={isBusy} onClick={() => void accept()}>
          {words.accept(account_name)}
        </Button>
      </div>
    )
  }
  if (is_known_person) {
    return (
      <div className={classes.form}>
        <p>{words.known(email)}</p>
        <Button
          variant="filled"
          fullWidth
          onClick={() => void navigate({ to: paths.signIn, search: { to: paths.invitation } as never })}
        >
          {words.signIn}
        </Button>
      </div>
    )
  }
  return (
    <>
      <NewPerson
        email={email}
        hasPassword={invitation.role !== null}
        submit={words.accept(account_name)}
        isBusy={isBusy}
        onSubmit={accept}
      />
      {problem}
    </>
  )
}

interface NewPersonProps {
  readonly email: string
  /** Operators have none: they sign in with a passkey alone. */
  readonly hasPassword: boolean
  readonly submit: string
  readonly isBusy: boolean
  readonly onSubmit: (person: { readonly name: string; readonly password?: string }) => Promise<void>
}

function NewPerson({ email, hasPassword, submit, isBusy, onSubmit }: NewPersonProps) {
  const form = useForm({
    initialValues: { name: '', password: '' },
    validate: {
      name: (value) => (value.trim() ? null : identity.required),
      password: (value) => (hasPassword ? newPasswordError(value) : null),
    },
  })
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(({ name, password }) =>
        onSubmit({ name: name.trim(), ...(hasPassword ? { password } : {}) }),
      )}
    >
      {/* Read-only, and with this name for the password manager. */}
      <TextInput label={words.email} value={email} readOnly autoComplete="username" variant="filled" />
      <TextInput
        label={words.name}
        autoComplete="name"
        maxLength={100}
        autoFocus
        {...form.getInputProps('name')}
      />
      {hasPassword ? (
        <PasswordInput
          label={words.password}
          description={words.passwordNote}
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
      ) : null}
      <Button type="submit" variant="filled" fullWidth loading={isBusy}>
        {submit}
      </Button>
    </form>
  )
}
