import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { browserSupportsWebAuthn } from '@simplewebauthn/browser'
import { IconBuilding, IconFingerprint } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Navigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { parseSearch } from '#lib/url-state.ts'
import { api } from '../../api/client.ts'
import { leaveAccount, renewSession, sessionQuery } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { CodeForm } from '../../session/code-form.tsx'
import { holdPassword } from '../../session/held-password.ts'
import { signInWithPasskey } from '../../session/passkeys.ts'
import { PublicPage } from '../../session/public-page.tsx'
import { safePath } from '../../session/safe-path.ts'
import classes from '../../session/session.module.css'
import { identity } from '../../strings/identity.ts'

type Step = { readonly next: 'done' | 'totp' | 'passkey' | 'enrol' }

const words = identity.signIn

export function SignInScreen() {
  const { to, ended, company } = useSearch({ strict: false }) as {
    readonly to?: string
    readonly ended?: string
    readonly company?: string
  }
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const router = useRouter()
  const [isPending, setPending] = useState(false)
  const [isPasskeyNext, setPasskeyNext] = useState(false)
  const goOn = async ({ next }: Step) => {
    // What another person left in memory must not be shown to this one.
    leaveAccount()
    await renewSession()
    if (next === 'totp') return setPending(true)
    if (next === 'passkey') return setPasskeyNext(true)
    router.history.replace(safePath(to))
  }
  if (!session) {
    return error ? (
      <PublicPage title={words.title}>
        <ErrorState what="The dashboard" error={error} onRetry={() => void refetch()} />
      </PublicPage>
    ) : null
  }
  const isSecondFactorNext = isPending || session.is_second_factor_pending
  if (session.person && !isSecondFactorNext) {
    const [path, search = ''] = safePath(to).split('?')
    return <Navigate to={path} search={parseSearch(search) as never} replace />
  }
  if (isSecondFactorNext) {
    return (
      <PublicPage title={identity.code.title} lead={identity.code.lead}>
        <CodeForm
          onTotp={async (code) => goOn(await api.act('signInWithTotp', { code }))}
          onRecovery={async (code) => goOn(await api.act('signInWithRecoveryCode', { code }))}
        />
      </PublicPage>
    )
  }
  if (isPasskeyNext) {
    const back = (
      <button type="button" className={classes.switch} onClick={() => setPasskeyNext(false)}>
        {identity.code.back}
      </button>
    )
    return (
      <PublicPage title={identity.code.title} lead={identity.code.leadPasskey} foot={back}>
        <PasskeyButton isFirst onStep={goOn} />
      </PublicPage>
    )
  }
  return (
    <PublicPage title={words.title} lead={ended ? undefined : words.lead} foot={words.noAccount}>
      <div className={classes.form}>
        {ended ? (
          <p className={classes.note} role="status">
            {words.ended}
          </p>
        ) : null}
        {company ? (
          <p className={classes.note} role="alert">
            {words.companyFailed[company as keyof typeof words.companyFailed] ?? words.companyFailed.refused}
          </p>
        ) : null}
        <PasswordForm onStep={goOn} />
        <OtherWays company={session.company_sign_in} onStep={goOn} />
      </div>
    </PublicPage>
  )
}

function PasswordForm({ onStep }: { readonly onStep: (step: Step) => Promise<unknown> }) {
  const [error, setError] = useState<string>()
  const form = useForm({
    initialValues: { email: '', password: '' },
    validate: {
      email: (value) => (/^\S+@\S+\.\S+$/.test(value.trim()) ? null : identity.emailWrong),
      password: (value) => (value ? null : identity.required),
    },
  })
  const submit = async ({ email, password }: typeof form.values) => {
    setError(undefined)
    try {
      const step = await api.act('signInWithPassword', { email: email.trim(), password })
      if (step.next === 'enrol') holdPassword(password)
      await onStep(step)
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
      form.setFieldValue('password', '')
    }
  }
  return (
    <form className={classes.form} noValidate onSubmit={form.onSubmit(submit)}>
      <TextInput
        label={words.email}
        type="email"
        autoComplete="username"
        autoFocus
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label={words.password}
        autoComplete="current-password"
        {...form.getInputProps('password')}
      />
      {error ? (
        <p className={classes.error} role="alert">
          {error}
        </p>
      ) : null}
      <Button type="submit" variant="filled" fullWidth loading={form.submitting}>
        {words.submit}
      </Button>
      <AppLink to={paths.forgotPassword}>{words.forgot}</AppLink>
    </form>
  )
}

function OtherWays({
  company,
  onStep,
}: {
  readonly company: string | null
  readonly onStep: (step: Step) => Promise<unknown>
}) {
  const canUsePasskey = browserSupportsWebAuthn()
  if (!canUsePasskey && !company) return null
  return (
    <>
      <div className={classes.or}>{words.or}</div>
      {canUsePasskey ? <PasskeyButton onStep={onStep} /> : null}
      {company ? (
        <Button
          fullWidth
          component="a"
          href={api.href('beginCompanySignIn')}
          leftSection={<IconBuilding size={16} aria-hidden />}
        >
          {words.company(company)}
        </Button>
      ) : null}
    </>
  )
}

/** Also the second half of a sign-in by password, for somebody who has no authenticator app. */
function PasskeyButton({
  onStep,
  isFirst = false,
}: {
  readonly onStep: (step: Step) => Promise<unknown>
  readonly isFirst?: boolean
}) {
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const tryPasskey = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await onStep(await signInWithPasskey())
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button
        fullWidth
        autoFocus={isFirst}
        variant={isFirst ? 'filled' : 'default'}
        loading={isBusy}
        onClick={() => void tryPasskey()}
        leftSection={<IconFingerprint size={16} aria-hidden />}
      >
        {words.passkey}
      </Button>
      {error ? (
        <p className={classes.error} role="alert">
          {error}
        </p>
      ) : null}
    </>
  )
}
