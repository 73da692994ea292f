import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { useAct } from '../../api/hooks.ts'
import { paths } from '../../paths.ts'
import { PublicPage } from '../../session/public-page.tsx'
import classes from '../../session/session.module.css'
import { identity } from '../../strings/identity.ts'

const words = identity.forgot

/** Says the same whether the address is known or not. */
export function ForgotPasswordScreen() {
  const [email, setEmail] = useState('')
  const [sentTo, setSentTo] = useState<string>()
  const ask = useAct('forgotPassword', { failed: null, onDone: (_, body) => setSentTo(body.email) })
  const foot = <AppLink to={paths.signIn}>{words.back}</AppLink>
  if (sentTo) return <PublicPage title={words.sentTitle} lead={words.sent(sentTo)} foot={foot} />
  return (
    <PublicPage title={words.title} lead={words.lead} foot={foot}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          ask.mutate({ email: email.trim() })
        }}
      >
        <TextInput
          label={identity.signIn.email}
          type="email"
          autoComplete="username"
          autoFocus
          required
          withAsterisk={false}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={ask.error?.message}
        />
        <Button type="submit" variant="filled" fullWidth loading={ask.isPending}>
          {words.submit}
        </Button>
      </form>
    </PublicPage>
  )
}
