import { Button, PasswordInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { showDone } from '#kit/components/feedback/toasts.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { dropToken, takeToken } from '#lib/token.ts'
import { useAct } from '../../api/hooks.ts'
import { paths } from '../../paths.ts'
import { newPasswordError } from '../../session/new-password.ts'
import { PublicPage } from '../../session/public-page.tsx'
import classes from '../../session/session.module.css'
import { identity } from '../../strings/identity.ts'

const words = identity.reset

export function ResetPasswordScreen() {
  const [token] = useState(() => takeToken('reset'))
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const navigate = useNavigate()
  const reset = useAct('resetPassword', {
    failed: null,
    onDone: () => {
      dropToken('reset')
      showDone(words.done, words.doneMore)
      void navigate({ to: paths.signIn })
    },
  })
  const again = <AppLink to={paths.forgotPassword}>{words.again}</AppLink>
  if (!token) return <PublicPage title={words.title} lead={words.noToken} foot={again} />
  return (
    <PublicPage title={words.title} lead={words.lead} foot={again}>
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const wrong = newPasswordError(password)
          setProblem(wrong)
          if (!wrong) reset.mutate({ token, password })
        }}
      >
        <PasswordInput
          label={words.label}
          description={words.note}
          autoComplete="new-password"
          autoFocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={problem ?? reset.error?.message}
        />
        <Button type="submit" variant="filled" fullWidth loading={reset.isPending}>
          {words.submit}
        </Button>
      </form>
    </PublicPage>
  )
}
